/** Segments of a seven-segment digit, in the usual order: top, right upper, right lower, bottom, left lower, left upper, middle. */
const digitSegments: Readonly<Record<string, string>> = {
  '0': 'abcdef',
  '1': 'bc',
  '2': 'abged',
  '3': 'abgcd',
  '4': 'fgbc',
  '5': 'afgcd',
  '6': 'afgedc',
  '7': 'abc',
  '8': 'abcdefg',
  '9': 'abfgcd',
  '-': 'g',
};

interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

function segmentBox(segment: string, x: number, y: number, width: number, thick: number): Box {
  const height = width * 2 - thick;
  const half = width - thick;
  switch (segment) {
    case 'a':
      return { x, y, w: width, h: thick };
    case 'b':
      return { x: x + width - thick, y, w: thick, h: width };
    case 'c':
      return { x: x + width - thick, y: y + half, w: thick, h: width };
    case 'd':
      return { x, y: y + height - thick, w: width, h: thick };
    case 'e':
      return { x, y: y + half, w: thick, h: width };
    case 'f':
      return { x, y, w: thick, h: width };
    default:
      return { x, y: y + half, w: width, h: thick };
  }
}

/**
 * Returns ffmpeg filters that draw a number with boxes: drawtext would need a font, which not every machine has. Digits
 * scale with the picture.
 */
export function createNumberFilters(text: string, pictureWidth: number): string[] {
  if (text === '') return [];
  const advance = Math.max(6, Math.floor((pictureWidth * 0.9) / Math.max(text.length, 12)));
  const width = Math.max(4, Math.floor(advance * 0.7));
  const thick = Math.max(1, Math.floor(width / 5));
  const left = Math.floor(pictureWidth * 0.05);
  const back = { x: left - thick, y: left - thick, w: advance * text.length + thick, h: width * 2 + thick * 2 };
  const filters = [`drawbox=x=${back.x}:y=${back.y}:w=${back.w}:h=${back.h}:color=black:t=fill`];
  for (const [index, character] of text.split('').entries()) {
    for (const segment of digitSegments[character] ?? '') {
      const box = segmentBox(segment, left + index * advance, left, width, thick);
      filters.push(`drawbox=x=${box.x}:y=${box.y}:w=${box.w}:h=${box.h}:color=white:t=fill`);
    }
  }
  return filters;
}
