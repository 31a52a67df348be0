// Measures the time from an alarm at a terminal to a webhook and a websocket, through the whole product, while 1,000
// terminals report. The floor of the same run is a request from this process to the same receiver. Prints a table.
// Fails if an alarm takes a second or more at the median.
// Usage: node deploy/bench/alarms.mjs   Settings: TERMINALS (1000), ALARMS (100), REPORT_SECONDS (10), MEDIAN_LIMIT_MS
// (1000).
import { once } from 'node:events';
import { Agent, request } from 'node:https';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { SimulatedTerminal } from '../../libs/terminal-simulator/dist/index.js';
import { startProduct } from '../local/dist/product.js';
import { raisedLimits } from './limits.mjs';
import { startReceiver } from './webhook-receiver.mjs';

const { WebSocket } = createRequire(new URL('../../services/platform-api/package.json', import.meta.url))('ws');
const [terminalCount, alarmCount, reportSeconds, medianLimitMs] = [
  ['TERMINALS', 1000],
  ['ALARMS', 100],
  ['REPORT_SECONDS', 10],
  ['MEDIAN_LIMIT_MS', 1000],
].map(([name, usual]) => Number(process.env[name] ?? usual));
/** Arrival times by what the body identifies. */
const arrivedAtMs = new Map();
const receiver = await startReceiver((notification) => {
  if (notification.notification_type === 'sos' || notification.floor)
    arrivedAtMs.set(`hook ${notification.imei}`, performance.now());
});
const { url, cert } = receiver;

const product = await startProduct({
  env: {
    ...raisedLimits,
    RATE_LIMIT_PLATFORM_PER_MINUTE: '1000000',
    RATE_LIMIT_PLATFORM_BURST: '1000000',
    ...receiver.env,
    LOG_LEVEL: 'warn',
  },
});
const terminals = [];
try {
  const { base_url: base, demo, jt808 } = product.runtime;
  let headers = { 'content-type': 'application/json' };
  const call = async (path, body) => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(`${base}/api${path}`, { headers, ...init });
    /** @type {any} */
    const result = await response.json();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(result)}`);
    return result.data ?? result;
  };
  const { access_token: token } = await call('/auth/login', { identifier: demo.email, password: demo.password });
  headers = { ...headers, authorization: `Bearer ${token}`, 'x-api-key': demo.api_key };
  await call('/user-webhooks', { url });

  // A time zone in which it is noon. At night every driving vehicle raises a notification, and all of them would be
  // delivered before the first alarm.
  const eastH = 12 - new Date().getUTCHours();
  const timezone = `Etc/GMT${eastH < 0 ? '+' : '-'}${Math.abs(eastH)}`;
  const phones = Array.from({ length: terminalCount }, (_none, at) => String(13_700_000_000 + at).padStart(12, '0'));
  for (let at = 0; at < phones.length; at += 20)
    await Promise.all(
      phones.slice(at, at + 20).map((imei) => call('/vehicles', { vehicle_no: `B${imei}`, imei, timezone })),
    );
  for (const phone of phones) {
    const terminal = new SimulatedTerminal({ ...jt808, phone, channels: 0, reportIntervalMs: reportSeconds * 1_000 });
    terminals.push(terminal);
    terminal.start();
    if (terminals.length % 25 === 0) await sleep(100);
  }
  await Promise.all(terminals.map((terminal) => terminal.waitUntilOnline(60_000)));

  const opened = await call('/user/generate-websocket-token');
  const socket = new WebSocket(`${opened.ws_url}?token=${opened.token}`);
  socket.on('message', (data) => {
    const { type, data: notification } = JSON.parse(data.toString());
    if (type === 'notification' && notification.notification_type === 'sos')
      arrivedAtMs.set(`socket ${notification.imei}`, performance.now());
  });
  await once(socket, 'open');
  await sleep(2 * reportSeconds * 1_000);

  const waitForArrival = async (name) => {
    const limit = performance.now() + 60_000;
    while (!arrivedAtMs.has(name)) {
      if (performance.now() > limit) throw new Error(`${name} never arrived`);
      await sleep(1);
    }
    return arrivedAtMs.get(name);
  };
  const [hooks, sockets] = [[], []];
  for (const terminal of terminals.slice(0, alarmCount)) {
    const startedMs = performance.now();
    terminal.raiseAlarm('emergency');
    hooks.push((await waitForArrival(`hook ${terminal.phone}`)) - startedMs);
    sockets.push((await waitForArrival(`socket ${terminal.phone}`)) - startedMs);
    await sleep(50);
  }
  const agent = new Agent({ ca: cert, keepAlive: true });
  const floor = [];
  for (let at = 0; at < alarmCount; at += 1) {
    const startedMs = performance.now();
    const body = JSON.stringify({ body: JSON.stringify({ notification: { floor: true, imei: `floor ${at}` } }) });
    const sent = request(url, { method: 'POST', agent }, (response) => response.resume()).end(body);
    await once(sent, 'close');
    floor.push((arrivedAtMs.get(`hook floor ${at}`) ?? Number.NaN) - startedMs);
    await sleep(50);
  }
  agent.destroy();
  socket.terminate();
  const quantile = (times, share) =>
    times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))];
  const row = (name, times) =>
    `| ${name} | ${times.length} | ${quantile(times, 0.5).toFixed(1)} | ${quantile(times, 0.99).toFixed(1)} |`;
  const rate = (terminalCount / reportSeconds).toFixed(0);
  console.log(
    `Time from an alarm to its receivers, while ${terminalCount} terminals send ${rate} reports a second in total:\n`,
  );
  console.log('| path | alarms | p50 ms | p99 ms |\n|---|---|---|---|');
  console.log(row('terminal to webhook receiver (HTTPS)', hooks));
  console.log(row('terminal to websocket client', sockets));
  console.log(row('floor: a request of this process to the receiver', floor));
  const timesByReceiver = { 'webhook receivers': hooks, 'websocket clients': sockets };
  const slow = Object.keys(timesByReceiver).filter((name) => !(quantile(timesByReceiver[name], 0.5) < medianLimitMs));
  for (const name of slow)
    console.error(
      `FAILED: an alarm reaches ${name} in ${quantile(timesByReceiver[name], 0.5).toFixed(1)} ms at the median; the limit is ${medianLimitMs} ms while ${terminalCount} terminals report.`,
    );
  if (slow.length > 0) process.exitCode = 1;
  else console.log(`\nBoth medians are under ${medianLimitMs} ms; otherwise the benchmark fails.`);
} finally {
  await Promise.all(terminals.map((terminal) => terminal.stop()));
  await product.stop();
  receiver.stop();
}
