// How elements are made. Texts of others reach a page through text nodes and attributes that run nothing (aria-label, title, value)
// only.

const byId = (id) => document.getElementById(id);

/** An element; strings among the children become text nodes. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "class") element.className = value;
    else if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** `1 citation`, `2 citations`. */
const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
