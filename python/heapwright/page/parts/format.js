// Figures as people read them: three digits and a unit, the minus as long as the plus.
const NARROW = "\u00a0", MINUS = "\u2212";
const SIZES = ["B", "KiB", "MiB", "GiB", "TiB"];
const TIMES = [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"]];

// 1,234.5; making a writer takes longer than writing.
const writers = [];
const grouped = (value, decimals = 0) => (writers[decimals] ??= new Intl.NumberFormat("en-US",
  { minimumFractionDigits: decimals, maximumFractionDigits: decimals })).format(value);

const sign = (value) => (value < 0 ? MINUS : "");

function digits(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1000) return grouped(size);
  return size.toFixed(Math.max(0, 2 - Math.floor(Math.log10(size * 1.0005))) > 3 ? 3
    : Math.max(0, 2 - Math.floor(Math.log10(size * 1.0005))));
}

function bytes(value) {
  let size = Math.abs(value), step = 0;
  for (; size >= 1023.5 && step < SIZES.length - 1; step++) size /= 1024;
  return sign(value) + (step ? digits(size) : Math.round(size)) + NARROW + SIZES[step];
}

function count(value) {
  const size = Math.abs(value);
  const text = size < 1e6 ? grouped(size) : digits(size / 1e6) + NARROW + "M";
  return sign(value) + text;
}

function duration(ns) {
  const [factor, unit] = TIMES.findLast(([from]) => Math.abs(ns) >= from * 0.9995) ?? TIMES[0];
  return sign(ns) + (factor === 1 ? Math.round(Math.abs(ns)) : digits(Math.abs(ns) / factor)) + NARROW + unit;
}

const share = (part, whole) =>
  whole <= 0 ? "–" : part === 0 ? "0" + NARROW + "%"
    : Math.abs(part / whole) < 0.001 ? "<0.1" + NARROW + "%" : (100 * part / whole).toFixed(1) + NARROW + "%";

// One unit for a column, so that its digits stand under each other.
function unitOf(kind, values) {
  let most = 0;
  for (const value of values) most = Math.max(most, Math.abs(value));
  if (kind === "count") return { factor: 1, name: "", decimals: 0 };
  if (kind === "ns") {
    const [factor, name] = TIMES.findLast(([from]) => most >= from * 10) ?? TIMES[0];
    return { factor, name, decimals: factor === 1 ? 0 : 1 };
  }
  const step = most >= 2 ** 31 ? 3 : most >= 2 ** 19 ? 2 : most >= 512 ? 1 : 0;
  return { factor: 1024 ** step, name: SIZES[step], decimals: step ? (step > 2 ? 2 : 1) : 0 };
}

function inUnit(value, unit, plus = false) {
  if (value === 0) return "0";
  const size = Math.abs(value) / unit.factor, least = 10 ** -unit.decimals;
  const before = value < 0 ? MINUS : plus ? "+" : "";
  if (size < least / 2) return before + "<" + least;
  return before + grouped(size, unit.decimals);
}

const FORMATS = { bytes, count, ns: duration };
