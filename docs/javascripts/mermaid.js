// Draws the mermaid blocks of a page in the site, as GitHub does. Offline the text of the block stays.
const blocks = document.querySelectorAll("pre > code.language-mermaid");
if (blocks.length) {
  const library = document.createElement("script");
  library.src = "https://cdn.jsdelivr.net/npm/mermaid@11.12.0/dist/mermaid.min.js";
  library.integrity = "sha384-o+g/BxPwhi0C3RK7oQBxQuNimeafQ3GE/ST4iT2BxVI4Wzt60SH4pq9iXVYujjaS";
  library.crossOrigin = "anonymous";
  library.onload = () => {
    for (const block of blocks) {
      const drawing = document.createElement("pre");
      drawing.className = "mermaid";
      drawing.textContent = block.textContent;
      block.parentElement.replaceWith(drawing);
    }
    mermaid.initialize({ startOnLoad: false });
    mermaid.run();
  };
  document.head.append(library);
}
