import type { Page } from 'playwright-core';

/** Red, green and blue, 0 to 255. */
export type Color = readonly [red: number, green: number, blue: number];

/** Returns the colours of a part of the page, row by row, one for each CSS pixel. */
export async function readPixels(
  page: Page,
  clip: { readonly x: number; readonly y: number; readonly width: number; readonly height: number },
): Promise<readonly Color[]> {
  const png = (await page.screenshot({ clip })).toString('base64');
  const { width, height } = clip;
  return page.evaluate<Color[]>(`(async () => {
    const bytes = Uint8Array.from(atob('${png}'), (letter) => letter.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const context = new OffscreenCanvas(${width}, ${height}).getContext('2d');
    context.drawImage(bitmap, 0, 0);
    const { data } = context.getImageData(0, 0, ${width}, ${height});
    return Array.from({ length: ${width * height} }, (_, at) => [...data.slice(4 * at, 4 * at + 3)]);
  })()`);
}
