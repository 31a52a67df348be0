import { waitFor } from '@fleet/testing';
import type { Locator, Page } from 'playwright-core';
import { pageTimeoutMs } from './dashboard-browser.ts';

/** Latitude and longitude. */
export type MapPosition = readonly [latitude: number, longitude: number];

const tileSize = 512;
const toX = (longitude: number): number => (longitude + 180) / 360;
const toY = (latitude: number): number => {
  const radians = (latitude * Math.PI) / 180;
  return (1 - Math.log(Math.tan(radians) + 1 / Math.cos(radians)) / Math.PI) / 2;
};

/** Uses the mouse on a map whose centre and zoom are known, at geographic positions. */
export class MapPointer {
  readonly #page: Page;
  readonly #center: MapPosition;
  readonly #worldPx: number;

  constructor(page: Page, center: MapPosition, zoom: number) {
    this.#page = page;
    this.#center = center;
    this.#worldPx = tileSize * 2 ** zoom;
  }

  /** The value of the search parameter `at` for this part of the map. */
  static place([latitude, longitude]: MapPosition, zoom: number): string {
    return `${latitude.toFixed(5)},${longitude.toFixed(5)},${zoom.toFixed(2)}`;
  }

  get #canvas(): Locator {
    return this.#page.locator('.maplibregl-canvas');
  }

  /** Waits until the next click on the map draws. */
  async waitUntilDrawing(): Promise<void> {
    const isReady = async () => (await this.#canvas.getAttribute('style'))?.includes('crosshair') === true;
    await waitFor(isReady, 'the map is ready for drawing', pageTimeoutMs);
  }

  /** Waits until the mouse can drag the corner at a position. */
  async waitUntilHandle(position: MapPosition): Promise<void> {
    const { x, y } = await this.#toPixel(position);
    const hasHandle = async (): Promise<boolean> => {
      await this.#page.mouse.move(x + 40, y + 40);
      await this.#page.mouse.move(x, y, { steps: 2 });
      return /cursor: (pointer|move)/.test((await this.#canvas.getAttribute('style')) ?? '');
    };
    await waitFor(hasHandle, 'the corner has a handle', pageTimeoutMs);
  }

  async click(position: MapPosition): Promise<void> {
    const { x, y } = await this.#toPixel(position);
    await this.#page.mouse.move(x, y, { steps: 3 });
    await this.#page.mouse.click(x, y);
  }

  /** Clicks a position until a condition holds: what is drawn there may appear later than the map. */
  async clickUntil(position: MapPosition, isDone: () => Promise<boolean>): Promise<void> {
    const clickOnce = async (): Promise<boolean> => {
      if (await isDone()) return true;
      await this.click(position);
      return isDone();
    };
    await waitFor(clickOnce, 'the click has an effect', pageTimeoutMs);
  }

  /** Drags what is at one position to another one. */
  async drag(from: MapPosition, to: MapPosition): Promise<void> {
    const [start, end] = [await this.#toPixel(from), await this.#toPixel(to)];
    await this.#page.mouse.move(start.x, start.y, { steps: 3 });
    await this.#page.mouse.down();
    await this.#page.mouse.move(end.x, end.y, { steps: 8 });
    await this.#page.mouse.up();
  }

  async #toPixel([latitude, longitude]: MapPosition): Promise<{ x: number; y: number }> {
    const box = await this.#canvas.boundingBox();
    if (box === null) throw new Error('The map has no size.');
    return {
      x: box.x + box.width / 2 + (toX(longitude) - toX(this.#center[1])) * this.#worldPx,
      y: box.y + box.height / 2 + (toY(latitude) - toY(this.#center[0])) * this.#worldPx,
    };
  }
}
