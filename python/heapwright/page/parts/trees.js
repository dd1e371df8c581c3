// Call paths as trees: from the outermost callers inward, or from the call sites outward.
// A node comes after its parent, so sums run from the last to the first.
class Tree {
  constructor() {
    this.parent = [-1];
    this.label = ["All"];
    this.place = [""];
    this.library = [""];
    this.group = [-1];  // of the call site, where the node is one
    this.firstChild = [-1];
    this.nextSibling = [-1];
    this.nodeOfLeaf = new Int32Array(D.counts.leaves);
  }
  add(parent, label, place, library, group) {
    const node = this.parent.length;
    this.parent.push(parent);
    this.label.push(label);
    this.place.push(place);
    this.library.push(library);
    this.group.push(group);
    this.firstChild.push(-1);
    this.nextSibling.push(this.firstChild[parent]);
    this.firstChild[parent] = node;
    return node;
  }
  childrenOf(node) {
    const found = [];
    for (let child = this.firstChild[node]; child >= 0; child = this.nextSibling[child]) found.push(child);
    return found;
  }
  // value: the sums of the leaves' values; weight: of their sizes. Due when all nodes are there.
  sum(values) {
    const value = this.sumsOf(values);
    return { value, weight: values.some((one) => one < 0) ? this.sumsOf(values.map(Math.abs)) : value };
  }
  sumsOf(values) {
    const parent = this.parents ??= Int32Array.from(this.parent), sums = new Float64Array(parent.length);
    for (let leaf = 0; leaf < values.length; leaf++) sums[this.nodeOfLeaf[leaf]] += values[leaf];
    for (let node = sums.length - 1; node > 0; node--) sums[parent[node]] += sums[node];
    return sums;
  }
}

// Call sites as the table shows them: one for a function, or one for a line.
let groups = [], groupOfSite = [];
function groupSites(isByLine) {
  const numbers = new Map();
  groups = [];
  groupOfSite = sites.map((site, at) => {
    const key = isByLine ? String(at) : site.name + "\n" + site.library;
    if (!numbers.has(key)) {
      numbers.set(key, groups.length);
      groups.push({ name: site.name, place: site.place, library: site.library, sites: [], leaves: [], series: null });
    }
    groups[numbers.get(key)].sites.push(at);
    return numbers.get(key);
  });
  for (const group of groups) if (group.sites.length > 1) group.place = placesOf(group.sites);
  for (let leaf = 0; leaf < D.counts.leaves; leaf++) groups[groupOfSite[leaves.site[leaf]]].leaves.push(leaf);
}

// file:3–9, or the file alone with others.
function placesOf(members) {
  const parts = members.map((at) => sites[at].place.match(/^(.*):(\d+)$/) ?? [null, sites[at].place, 0]);
  const files = new Set(parts.map((part) => part[1]));
  const lines = parts.map((part) => Number(part[2])).sort((a, b) => a - b);
  return files.size > 1 ? parts[0][1] + " …" : lines[0] ? `${parts[0][1]}:${lines[0]}–${lines.at(-1)}` : parts[0][1];
}

// Live bytes of a group at each bin's end.
function seriesOf(group) {
  if (!group.series) {
    group.series = new Float64Array(BINS + 1);
    for (const leaf of group.leaves) addLive(leaf, group.series);
  }
  return group.series;
}

function treeFromMain() {
  const tree = new Tree();
  for (let node = 1; node < D.counts.nodes; node++) {
    tree.add(nodes.parent[node], D.names[nodes.name[node]], "", D.names[nodes.library[node]], -1);
  }
  for (let leaf = 0; leaf < D.counts.leaves; leaf++) {
    const site = sites[leaves.site[leaf]];
    const node = leaves.node[leaf];
    const isSame = tree.label[node] === site.name && site.place;
    tree.nodeOfLeaf[leaf] = tree.add(node, isSame ? site.place : site.name, isSame ? "" : site.place, site.library,
      groupOfSite[leaves.site[leaf]]);
  }
  return tree;
}

function treeFromSites() {
  const tree = new Tree(), known = new Map();
  const child = (parent, label, place, library, group) => {
    const key = `${parent}\n${label}\n${library}`;
    if (!known.has(key)) known.set(key, tree.add(parent, label, place, library, group));
    return known.get(key);
  };
  groups.forEach((group, number) => known.set(`site ${number}`, tree.add(0, group.name, group.place, group.library, number)));
  for (let leaf = 0; leaf < D.counts.leaves; leaf++) {
    const number = groupOfSite[leaves.site[leaf]];
    let at = known.get(`site ${number}`);
    for (let node = leaves.node[leaf], isFirst = true; node > 0; node = nodes.parent[node], isFirst = false) {
      const label = D.names[nodes.name[node]];
      if (isFirst && label === groups[number].name) continue;
      at = child(at, label, "", D.names[nodes.library[node]], -1);
    }
    tree.nodeOfLeaf[leaf] = at;
  }
  return tree;
}
