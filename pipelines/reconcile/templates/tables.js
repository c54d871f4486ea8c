// Sorts, filters and searches the tables of this page. Without it, every row is there all the same.
"use strict";
for (const [place, table] of document.querySelectorAll("table.data").entries()) {
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const first = Number(table.dataset.first) || rows.length, chosen = new Map(), name = table.caption.firstChild.textContent.trim();
  let whole = false, words = [];
  const make = (tag, values) => Object.assign(document.createElement(tag), values);
  const value = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
  const key = (row, column) => row.cells[column].dataset.sort ?? value(row, column);
  const tools = make("div", { className: "tools" }), status = make("span", { className: "soft" });
  status.setAttribute("role", "status");
  const more = make("button", { type: "button" });

  const show = () => {
    const found = rows.filter((row) => words.every((word) => row.textContent.toLowerCase().includes(word))
      && [...chosen].every(([column, wanted]) => value(row, column) === wanted));
    const narrowed = found.length < rows.length, seen = whole || narrowed ? found : found.slice(0, first);
    const matches = new Set(found), visible = new Set(seen);
    for (const row of rows) {
      row.hidden = !matches.has(row);
      row.classList.toggle("later", matches.has(row) && !visible.has(row));
    }
    status.textContent = narrowed ? `${found.length} of ${rows.length} rows match` : `${seen.length} of ${rows.length} rows shown`;
    more.hidden = rows.length <= first || narrowed;
    more.textContent = whole ? `Show the first ${first}` : `Show all ${rows.length}`;
    more.setAttribute("aria-expanded", whole);
  };

  const sort = (column) => {
    const head = heads[column], numbers = rows.every((row) => /^-?\d*$/.test(key(row, column)));
    const before = head.getAttribute("aria-sort");
    const down = before ? before === "ascending" : numbers;
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    rows.sort((one, two) => {
      const [a, b] = [key(one, column), key(two, column)];
      if (a === "" || b === "") return (a === "") - (b === "");
      return (numbers ? Number(a) - Number(b) : a.localeCompare(b, "en", { numeric: true })) * (down ? -1 : 1);
    });
    body.append(...rows);
    show();
  };

  const search = make("input", { type: "search", placeholder: "Search", id: `search-${place}` });
  search.setAttribute("aria-label", `Search in ${name}`);
  search.addEventListener("input", () => { words = search.value.toLowerCase().split(/\s+/).filter(Boolean); show(); });
  tools.append(search);
  heads.forEach((head, column) => {
    const label = head.textContent.trim();
    const button = make("button", { type: "button", textContent: label });
    button.addEventListener("click", () => sort(column));
    head.replaceChildren(button);
    const values = [...new Set(rows.map((row) => value(row, column)))].sort();
    if (head.hasAttribute("data-filter") && values.length > 1) {
      const select = make("select", {});
      select.setAttribute("aria-label", `${label} in ${name}`);
      select.append(make("option", { value: "", textContent: `${label}: all` }));
      select.append(...values.map((one) => make("option", { value: `=${one}`, textContent: one || "none" })));
      select.addEventListener("change", () => {
        if (select.value) chosen.set(column, select.value.slice(1)); else chosen.delete(column);
        show();
      });
      tools.append(select);
    }
  });
  more.addEventListener("click", () => { whole = !whole; show(); });
  tools.append(more, status);
  if (rows.length > 3) {
    table.setAttribute("aria-label", name); // the caption alone; the tools stand in it
    table.caption.append(tools);
  }
  show();
}
// a link to a row that is not shown yet
const reveal = () => document.getElementById(decodeURIComponent(location.hash.slice(1)))?.classList.remove("later");
addEventListener("hashchange", reveal);
reveal();
for (const told of document.querySelectorAll("[data-written]")) {
  const hours = Math.floor((Date.now() - Number(told.dataset.written)) / 3600000);
  if (hours >= 26) told.append(` This page is ${hours < 72 ? `${hours} hours` : `${Math.floor(hours / 24)} days`} old: no night has written it since.`);
}
