// Show the newest runs, at the right.
for (const drawn of document.querySelectorAll(".trend")) drawn.scrollLeft = drawn.scrollWidth;
for (const table of document.querySelectorAll("table:not(.grid)")) {
  const heads = Array.from(table.querySelectorAll("thead th"), head => head.innerText.replace(/\s+/g, " ").trim());
  if (heads.length < 2) continue;
  table.classList.add("stacked");
  for (const row of table.tBodies[0] ? table.querySelectorAll("tbody tr:not(.group)") : [])
    Array.from(row.cells).forEach((cell, at) => { if (at && heads[at] && cell.colSpan === 1) cell.dataset.head = heads[at]; });
}
for (const [number, table] of document.querySelectorAll("table:not(.grid)").entries()) {
  const rows = Array.from(table.querySelectorAll("tbody tr:not(.group)"));
  if (rows.length < 12) continue;
  const asked = document.createElement("p"), label = document.createElement("label"), box = document.createElement("input"), left = document.createElement("span");
  Object.assign(asked, { className: "find", id: `find-${number}` });
  Object.assign(box, { type: "search", placeholder: table.dataset.such || "" });
  Object.assign(left, { className: "soft small", role: "status" });
  label.append(`${table.dataset.find || "Only rows with"} `, box);
  asked.append(label, " ", left);
  (table.closest(".scroll") || table).before(asked);
  box.oninput = () => {
    const words = box.value.toLowerCase().split(/[\s,]+/).filter(Boolean);
    for (const row of rows) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
    for (const body of table.tBodies) body.hidden = !body.querySelector("tr:not(.group):not([hidden])");
    left.textContent = words.length ? `${rows.filter(row => !row.hidden).length} of ${rows.length}` : "";
  };
}
