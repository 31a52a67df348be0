import { type RunningProduct, startProduct } from '@fleet/local/product';
import { waitFor, waitForAssertion } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Page } from 'playwright-core';
import { DashboardBrowser, findAccessibilityFaults, pageTimeoutMs } from './testing/dashboard-browser.ts';
import { takePictures } from './testing/dashboard-pictures.ts';

// A browser with software rendering, and a fleet that creates its clips at its first start.
jest.setTimeout(600_000);

let product: RunningProduct;
let browser: DashboardBrowser;
let page: Page;

beforeAll(async () => {
  product = await startProduct({ simulator: true });
  browser = await DashboardBrowser.open({ product });
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await product?.stop();
}, 90_000);

afterEach(() => expect(browser.faults.splice(0)).toEqual([]));

describe('a first visit', () => {
  it('signs in by the printed link and sees the simulated vehicles drive', async () => {
    const link = product.runtime.demo.sign_in_url;
    expect(product.output()).toContain(link);
    page = await browser.newPage(new URL(String(link)).pathname);
    const vehicles = page.getByRole('list', { name: 'Vehicles' });
    await vehicles.waitFor();
    await waitForAssertion(() => expect(new URL(page.url()).pathname).toBe('/map'));
    await vehicles.getByText(/km\/h/).first().waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
    await page.getByRole('button', { name: 'Fit', exact: true }).click();
    await takePictures(page, 'map');
  });

  it('raises an SOS from the demo menu and sees it arrive', async () => {
    await page.getByRole('button', { name: 'Demo', exact: true }).click();
    const vehicle = page.getByRole('menuitem').first();
    const name = String(await vehicle.textContent());
    // By the keyboard: the pointer opens a menu of its own, which may cover the item.
    await vehicle.press('ArrowRight');
    const action = page.getByRole('menuitem', { name: 'Press SOS' });
    await action.waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await action.click();
    await page.getByText(`${name}: done`).waitFor();
    await page.getByRole('link', { name: /^Events/ }).click();
    // The filter of types has the name too.
    await page.getByText('SOS').filter({ visible: true }).first().waitFor();
    await page.getByText(name).first().waitFor();
  });

  it('opens two cameras, which play with sound', async () => {
    await page.getByRole('link', { name: 'Video' }).click();
    const cameras = page.getByRole('button', { name: /, camera/ });
    await cameras.nth(0).click();
    await cameras.nth(1).click();
    const readTimes = () =>
      page.evaluate<number[]>('Array.from(document.querySelectorAll("video"), (video) => video.currentTime)');
    await waitFor(
      async () => {
        const times = await readTimes();
        return times.length === 2 && times.every((time) => time > 2);
      },
      'two seconds of both cameras',
      pageTimeoutMs,
    );
    await takePictures(page, 'video');
    await page.getByRole('button', { name: /sound/i }).first().click();
    await waitFor(
      () => page.evaluate<boolean>('Array.from(document.querySelectorAll("video")).some((video) => !video.muted)'),
      'a camera with sound',
      pageTimeoutMs,
    );
    expect(
      await page.evaluate('Array.from(document.querySelectorAll("video")).filter((video) => !video.muted).length'),
    ).toBe(1);
  });
});
