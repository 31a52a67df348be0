import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import type { ProductHarness } from './harness.ts';

const script = resolve('services/platform-api/dist/create-vehicle.js');
let vehicles = 0;

/** Creates a vehicle with a terminal, as an operator does. */
export async function createVehicle(harness: ProductHarness, imei: string, cameraUtcOffset: string): Promise<void> {
  const { demo, backends } = harness.product.runtime;
  vehicles += 1;
  const what = ['--owner', demo.email, '--vehicle-no', `E2E${process.pid}${vehicles}`, '--imei', imei];
  await promisify(execFile)(process.execPath, [script, ...what, `--camera-utc-offset=${cameraUtcOffset}`], {
    env: { ...process.env, MONGODB_URL: backends.mongodb_url },
  });
}
