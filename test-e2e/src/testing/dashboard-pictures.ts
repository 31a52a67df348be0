import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

/** Pictures are taken for people: no test waits for them. */
const settleMs = 2_000;
const sizes = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
] as const;

/**
 * Takes pictures of a page in both themes and at both sizes, if `DASHBOARD_PICTURES_DIR` names a folder. Restores the
 * first size and the light theme.
 */
export async function takePictures(page: Page, name: string): Promise<void> {
  const folder = process.env['DASHBOARD_PICTURES_DIR'];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  for (const colorScheme of ['dark', 'light'] as const)
    for (const size of sizes.toReversed()) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(size);
      // Maps draw again in the other colours.
      await page.waitForTimeout(settleMs);
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}-${size.width}.png`) });
    }
}
