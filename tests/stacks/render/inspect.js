// Looks at a page as a reader would: gives one sentence for each thing that can't be read. Runs inside of the browser.
(() => {
  const problems = [];
  const leastContrast = 4.5;
  const say = (what, text) => problems.push(`${what}: ${text.trim().slice(0, 60)}`);

  const isHidden = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (style.display === "none" || style.visibility === "hidden" || style.clipPath !== "none" || at.classList.contains("skip")) return true;
    }
    return false;
  };

  // Every run of text with where it stands.
  const runs = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const owner = node.parentElement;
    if (!node.textContent.trim() || ["STYLE", "SCRIPT", "title", "desc"].includes(owner.tagName) || isHidden(owner)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) if (box.width && box.height) runs.push({ owner, text: node.textContent, box });
  }
  if (!runs.length) problems.push("the page shows no text");

  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) problems.push(`the page is ${page.scrollWidth} px wide, in a window of ${page.clientWidth}`);

  for (const { owner, text, box } of runs) {
    if (box.left < -0.5 || box.right > innerWidth + 0.5) say("outside of the window", text);
    for (let at = owner; at; at = at.parentElement) {
      const clips = getComputedStyle(at).overflowX !== "visible" && at !== page && at !== document.body && !(at instanceof SVGElement);
      const around = at.getBoundingClientRect();
      if (clips && (box.right > around.right + 1 || box.left < around.left - 1)) say("cut off", text);
    }
  }

  // Text in a card must end before the card does; a picture's text before the picture.
  for (const { owner, text, box } of runs.filter((run) => run.owner instanceof SVGElement)) {
    const card = owner.parentElement.querySelector(":scope > rect.card");
    const around = (card && owner.parentElement.tagName === "g" ? card : owner.ownerSVGElement).getBoundingClientRect();
    if (box.left < around.left || box.right > around.right || box.top < around.top - 1 || box.bottom > around.bottom + 1) say("leaves its card", text);
  }

  // Lines of text are a little higher than their letters, hence the allowance.
  const byTop = [...runs].sort((one, other) => one.box.top - other.box.top);
  byTop.forEach((one, number) => {
    for (let next = number + 1; next < byTop.length && byTop[next].box.top < one.box.bottom; next++) {
      const other = byTop[next];
      const across = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
      const down = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
      if (across > 1 && down > 0.35 * Math.min(one.box.height, other.box.height)) say(`over "${other.text.trim().slice(0, 30)}"`, one.text);
    }
  });

  const channels = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
  const luminance = (colour) => {
    const [red, green, blue] = channels(colour).slice(0, 3).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const isSolid = (colour) => colour.startsWith("rgb") && (channels(colour)[3] ?? 1) === 1;
  const behindHtml = (element) => {
    for (let at = element; at; at = at.parentElement) if (isSolid(getComputedStyle(at).backgroundColor)) return getComputedStyle(at).backgroundColor;
    return "rgb(255, 255, 255)";
  };
  const behindSvg = (element, box) => {
    let found = null;
    for (const shape of element.ownerSVGElement.querySelectorAll("rect, text")) {
      if (shape === element) break;
      if (shape.tagName !== "rect" || !isSolid(getComputedStyle(shape).fill)) continue;
      const around = shape.getBoundingClientRect();
      const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
      if (around.left <= x && x <= around.right && around.top <= y && y <= around.bottom) found = getComputedStyle(shape).fill;
    }
    return found || behindHtml(element.ownerSVGElement.parentElement);
  };
  for (const { owner, text, box } of runs) {
    const isSvg = owner instanceof SVGElement;
    const style = getComputedStyle(owner);
    const levels = [luminance(isSvg ? style.fill : style.color), luminance(isSvg ? behindSvg(owner, box) : behindHtml(owner))].sort((a, b) => b - a);
    const contrast = (levels[0] + 0.05) / (levels[1] + 0.05);
    if (contrast < leastContrast) say(`contrast ${contrast.toFixed(1)}`, text);
  }

  // What those hear who can't see.
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  if (new Set(ids).size !== ids.length) problems.push("an id is there twice");
  for (const element of document.querySelectorAll("[aria-labelledby]"))
    for (const id of element.getAttribute("aria-labelledby").split(" ")) if (!document.getElementById(id)?.textContent.trim()) say("named by nothing", id);
  for (const link of document.querySelectorAll("a[href^='#']")) if (!document.getElementById(link.getAttribute("href").slice(1))) say("leads nowhere", link.textContent);
  for (const picture of document.querySelectorAll("svg")) if (!picture.querySelector("title") || !picture.querySelector("desc")) problems.push("a picture without title or description");
  for (const header of document.querySelectorAll("th")) if (!header.scope) say("a header of nothing", header.textContent);
  for (const table of document.querySelectorAll("table")) if (!table.caption?.textContent) problems.push("a table without a caption");
  if (!document.documentElement.lang || !document.title) problems.push("no language or no title");
  const levels = [...document.querySelectorAll("h1, h2, h3, h4")].map((heading) => Number(heading.tagName[1]));
  levels.forEach((level, number) => { if (level > (levels[number - 1] ?? 0) + 1) problems.push(`heading ${number + 1} skips a level`); });

  return [...new Set(problems)];
})()
