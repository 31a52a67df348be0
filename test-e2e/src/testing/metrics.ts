import type { ProductHarness } from './harness.ts';

/** Returns one counter of a service, summed over all label sets that contain these labels. */
export async function readCounter(
  harness: ProductHarness,
  service: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<number> {
  const response = await fetch(`${harness.product.runtime.health[service]}/metrics`);
  const labelPairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  let sum = 0;
  for (const line of (await response.text()).split('\n')) {
    const [, metric, set = '', value] = /^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? [];
    if (metric === name && labelPairs.every((pair) => set.split(',').includes(pair))) sum += Number(value);
  }
  return sum;
}
