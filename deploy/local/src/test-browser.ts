import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { findOnPath } from './backends/find-on-path.ts';
import { installPackages, type PackageRequest } from './backends/install-packages.ts';
import { repoRoot } from './paths.ts';
import type { Progress } from './progress.ts';

const chromium: PackageRequest = {
  packageName: 'chromium',
  program: 'chromium',
  advice: 'Install Chromium (Debian: sudo apt-get install chromium) or set CHROMIUM_PATH to a Chromium or Chrome.',
};

/** Returns the browser of the end-to-end tests: CHROMIUM_PATH, one on the PATH, or Debian's. */
export async function prepareChromium(progress: Progress, env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const installed = env['CHROMIUM_PATH'] || findOnPath('chromium') || findOnPath('google-chrome');
  if (installed !== undefined) return installed;
  const logDir = join(repoRoot, '.cache', 'logs');
  mkdirSync(logDir, { recursive: true });
  const [program = ''] = await installPackages([chromium], { progress, logDir });
  return program;
}
