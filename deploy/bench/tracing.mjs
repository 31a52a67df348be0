// `npm run bench -- tracing`: compares the cost of commands and of location reports with tracing off, with one trace in a
// hundred, and with all traces, alternating in one run. Writes docs/benchmarks-tracing.md. Settings: ROUNDS (3), SECONDS
// (10), TERMINALS (500).

import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { LoadFleet } from '../../libs/terminal-simulator/dist/index.js';
import { startProduct } from '../local/dist/product.js';
import { cpuMsOf } from './cpu-time.mjs';
import { raisedLimits } from './limits.mjs';
import { machine } from './machine.mjs';
import { formatInteger, percentile } from './statistics.mjs';

const [rounds, seconds, terminals] = [
  ['ROUNDS', 3],
  ['SECONDS', 10],
  ['TERMINALS', 500],
].map(([name, usual]) => Number(process.env[name] ?? usual));
const concurrentCommands = 8;
const target = fileURLToPath(new URL('../../docs/benchmarks-tracing.md', import.meta.url));

/** A collector that discards all traces. */
const collector = createServer((request, response) => {
  request.resume().on('end', () => response.end());
}).listen(0, '127.0.0.1');
await new Promise((resolve) => collector.once('listening', resolve));
const address = collector.address();
const endpoint = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;

const modes = {
  off: {},
  'one in a hundred': {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.01',
  },
  all: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint },
};

/** Processes of a command and of a report. */
const processesOf = {
  commands: ['device-api', 'jt808-gateway'],
  reports: ['jt808-gateway', 'platform-telemetry'],
};

const used = (product, names) => names.reduce((sum, name) => sum + cpuMsOf(product.runtime.processes[name]), 0);

/** Runs the load for some seconds. Returns its count and the CPU time of its processes. */
async function measureDuring(product, names, count) {
  const beforeMs = used(product, names);
  const done = await count();
  return { perSecond: done / seconds, microseconds: ((used(product, names) - beforeMs) * 1_000) / done };
}

/** Sends commands one after the other on several connections. Returns how many succeeded; throws if one fails. */
async function sendCommands(product, phones) {
  const endMs = performance.now() + seconds * 1_000;
  let sent = 0;
  const sendNext = async () => {
    while (performance.now() < endMs) {
      const phone = phones[sent % phones.length];
      sent += 1;
      const response = await fetch(`${product.runtime.base_url}/api/v1/wakeup?imei=${phone}`);
      if (response.status !== 200) throw new Error(`A command ended with ${response.status}: ${await response.text()}`);
      await response.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: concurrentCommands }, sendNext));
  return sent;
}

const startFleet = async (product, intervalMs, firstPhone) => {
  const fleet = new LoadFleet({ ...product.runtime.jt808, terminals, intervalMs, firstPhone, connectRate: 250 });
  fleet.start();
  while (fleet.counters.online < terminals) await sleep(100);
  return fleet;
};

/** Measures one mode with a product of its own. */
async function measureMode(settings) {
  const product = await startProduct({ env: { ...raisedLimits, LOG_LEVEL: 'warn', ...settings } });
  try {
    const silent = await startFleet(product, 3_600_000, '013900100000');
    await sendCommands(product, silent.phones);
    const commands = await measureDuring(product, processesOf.commands, () => sendCommands(product, silent.phones));
    const reporting = await startFleet(product, 1_000, '013900200000');
    await sleep(3_000);
    const reports = await measureDuring(product, processesOf.reports, async () => {
      const before = reporting.counters.reportsAcknowledged;
      await sleep(seconds * 1_000);
      return reporting.counters.reportsAcknowledged - before;
    });
    await Promise.all([silent.stop(), reporting.stop()]);
    return { commands, reports };
  } finally {
    await product.stop();
  }
}

const results = Object.fromEntries(Object.keys(modes).map((mode) => [mode, []]));
for (let round = 0; round < rounds; round += 1)
  for (const [mode, settings] of Object.entries(modes)) {
    results[mode].push(await measureMode(settings));
    console.log(JSON.stringify({ round, mode, ...results[mode].at(-1) }));
  }
collector.close();

const median = (mode, what, field) =>
  percentile(
    results[mode].map((each) => each[what][field]),
    0.5,
  );
const toRow = (what, mode) => {
  const cost = median(mode, what, 'microseconds');
  const ratio = cost / median('off', what, 'microseconds');
  return `| ${what} | ${mode} | ${formatInteger(median(mode, what, 'perSecond'))} | ${formatInteger(cost)} | ${ratio.toFixed(2)} |`;
};
const rows = Object.keys(processesOf).flatMap((what) => Object.keys(modes).map((mode) => toRow(what, mode)));
writeFileSync(
  target,
  `# Benchmarks of tracing

Written by \`npm run bench -- tracing\` on ${new Date().toISOString().slice(0, 10)}, on ${machine()}. Medians of ${rounds} rounds of
${seconds} s for each setting, alternating. ${terminals} terminals, the product and a collector that discards all traces share the cores.
The CPU time is that of device-api and the gateway for commands (${concurrentCommands} at a time), and of the gateway and telemetry for location
reports.

| Load | Traces | Each second | CPU µs each | Of the cost without traces |
|---|---|---|---|---|
${rows.join('\n')}
`,
);
console.log(`written: ${target}`);
