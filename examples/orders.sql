-- A shop in memory: 60,000 orders of 2,000 customers, indexed, joined, ranked
-- and deleted again. Recorded by `make run`.
CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, item TEXT, cents INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
INSERT INTO customer SELECT i, 'customer ' || i, 'city ' || (i % 97) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
INSERT INTO orders SELECT i, 1 + (i * 7919) % 2000, 'item ' || ((i * 31) % 1009), (i * 37) % 9000 FROM n;
CREATE INDEX orders_by_customer ON orders(customer);
CREATE INDEX orders_by_item ON orders(item, cents);
SELECT city, count(*), sum(cents) FROM orders JOIN customer ON customer.id = orders.customer
GROUP BY city ORDER BY 3 DESC LIMIT 3;
SELECT item, group_concat(id) IS NOT NULL, max(cents) FROM orders GROUP BY item ORDER BY 3 DESC, 1 LIMIT 3;
SELECT customer, rank() OVER (ORDER BY sum(cents) DESC) FROM orders GROUP BY customer LIMIT 3;
DELETE FROM orders WHERE id % 3 = 0;
UPDATE orders SET item = item || ' (sold)' WHERE id % 5 = 0;
SELECT count(*), sum(length(item)) FROM orders;
