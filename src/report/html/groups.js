// The criteria of a case by group: nodes of a tree, or values of a tag. Groups open and close.

/** The rows of components, each group before what is below it; `fill` makes them again. */
function groupedRows(rows, table, fill) {
  const groups = (table.block.groups ?? []).map(([heading, above], place) => ({ place, heading, above, members: [], parts: [] }));
  const top = { members: [], parts: [] };
  // Groups are in the order of their first components.
  for (const row of rows) {
    let [member, place, isNew] = [row, row[1].group ?? null, true];
    for (;;) {
      const owner = place === null ? top : groups[place];
      if (isNew) owner.members.push(member);
      owner.parts.push(row);
      if (place === null) break;
      [member, place, isNew] = [owner, owner.above, owner.parts.length === 1];
    }
  }
  const isOpen = ({ place, parts }) => casePage.groups.get(place) ?? (rows.length <= mostOpen || parts.some(([name]) => casePage.open.has(`${table.scorer}/${name}`)));
  const rowsOf = (owner, depth) => owner.members.flatMap((member) => {
    if (Array.isArray(member)) return partRows(...member, { ...table, depth });
    const open = isOpen(member);
    const toggle = () => {
      casePage.groups.set(member.place, !open);
      fill();
      byId(`group-${member.place}`).focus();
    };
    return [groupRow(member, depth, open, toggle, table), ...(open ? rowsOf(member, depth + 1) : [])];
  });
  return rowsOf(top, 0);
}

/** A group with its share of the score and its value per system. */
function groupRow({ place, heading, parts }, depth, isOpen, toggle, { scores, weights, weighted }) {
  const share = parts.reduce((sum, [name]) => sum + Math.max(0, weights.get(name)), 0);
  const count = parts.length === 1 ? "1 criterion" : `${parts.length} criteria`;
  const button = make("button", { type: "button", class: "open-group", id: `group-${place}`, "aria-expanded": String(isOpen), on: { click: toggle } },
    make("span", {}, make("span", { class: "part-text" }, heading, " "), make("span", { class: "kind" }, count)));
  const row = make("tr", { class: "node" }, make("th", { scope: "row" }, button), weighted && make("td", { class: "weight n quiet" }, figure(share, "share")),
    scores.map((score) => make("td", {}, score && scoreBar(groupValue(parts, score, weights), "share"))));
  row.firstChild.style.setProperty("--depth", depth);
  return row;
}

/** The earned share of the positive weights; null where none is positive or one of the components is unscored. */
function groupValue(parts, score, weights) {
  let [sum, whole] = [0, 0];
  for (const [name] of parts) {
    const { value, unscored } = score.parts.get(name) ?? { value: null };
    if (unscored?.abstained) continue;
    if (value === null) return null;
    sum += weights.get(name) * value;
    whole += Math.max(0, weights.get(name));
  }
  return whole > 0 ? sum / whole : null;
}
