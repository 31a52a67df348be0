// Writes docs/reference/metrics.md: starts a product and reads the metrics of each of its processes. A test of test-e2e
// compares the page with a running product.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './steps.mjs';

export const metricsPage = join(root, 'docs', 'reference', 'metrics.md');

const intro = `# Metrics

Every metric of the product, by name, as \`/metrics\` of the admin ports serves them. Names and units follow the conventions of Prometheus. All have the
label \`service\`. Each process also has the metrics \`process_*\` and \`nodejs_*\` of prom-client: processor, memory, garbage collection, open
files and the delay of the event loop. \`scripts/metrics-table.mjs\` writes this page.

| Metric | Type | Unit | Labels | Service | Meaning |
|---|---|---|---|---|---|
`;

/** Returns the unit that the name of a metric ends with. */
function toUnit(name) {
  const [, unit] = /_(seconds|bytes)(?:_total)?$/.exec(name) ?? [];
  return unit ?? (name.endsWith('_up') ? '0 or 1' : 'number');
}

const isOwn = ({ name }) => !/^(process|nodejs)_/.test(name);

/** Returns the page for the admin ports of a product's processes, by name. */
export async function describeProduct(adminUrls) {
  const found = new Map();
  for (const [process, url] of Object.entries(adminUrls)) {
    const service = process.replace('platform-telemetry', 'platform-api');
    const response = await fetch(`${url}/metrics/descriptions`);
    const metrics = /** @type {any[]} */ (await response.json());
    for (const { name, help, type, labelNames } of metrics.filter(isOwn)) {
      const services = found.get(name)?.services ?? new Set();
      found.set(name, { name, help, type, labelNames, services: services.add(service) });
    }
  }
  const rows = [...found.values()]
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, help, type, labelNames, services }) => {
      const labels = labelNames.map((label) => `\`${label}\``).join(', ');
      const owner = services.size === 6 ? 'all' : [...services].join(', ');
      return `| \`${name}\` | ${type} | ${toUnit(name)} | ${labels} | ${owner} | ${help.replaceAll('|', '\\|')} |`;
    });
  return `${intro}${rows.join('\n')}\n`;
}

if (process.argv[1] !== undefined && pathToFileURL(process.argv[1]).href === import.meta.url) {
  const { startProduct } = await import('../deploy/local/dist/product.js');
  const product = await startProduct();
  try {
    writeFileSync(metricsPage, await describeProduct(product.runtime.health));
  } finally {
    await product.stop();
  }
}
