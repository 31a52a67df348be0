// Measures reports per second through all rules of platform-api on one core, without I/O. The floor only decodes the
// same reports. Prints a table.
// Usage: node deploy/bench/rules.mjs   Settings: ROUNDS (default 2), VEHICLES (1000).
import { performance } from 'node:perf_hooks';
import { readTelemetryBatch, TelemetryBatch } from '../../libs/bus/dist/index.js';
import {
  additionalItemDefinitions,
  createAdditionalItem,
  encodeBody,
  locationReport,
} from '../../libs/jt808/dist/index.js';
import { readEnv } from '../../libs/service-kit/dist/index.js';
import { buildShape } from '../../services/platform-api/dist/domains/geofences/shapes.js';
import { createPath, routeDefaults } from '../../services/platform-api/dist/domains/planned-routes/rules.js';
import { destination } from '../../services/platform-api/dist/geometry/positions.js';
import { thresholdSettings } from '../../services/platform-api/dist/platform/thresholds.js';
import { rules } from '../../services/platform-api/dist/rules/index.js';
import { readRuleSettings, ruleSettings } from '../../services/platform-api/dist/rules/rule-settings.js';
import { decodeReport, deviceTimestamp } from '../../services/platform-api/dist/telemetry/decode-report.js';

const rounds = Number(process.env.ROUNDS ?? 2);
const vehicleCount = Number(process.env.VEHICLES ?? 1000);
const [warmUpReports, reportsEach, everyMs] = [10, 60, 10_000];
const reportsAtOnce = 100;
/** @type {import('../../services/platform-api/dist/geometry/positions.js').Position} */
const centre = [22.5, 114];
const offset = '+08:00';
const defaultSettings = readRuleSettings(readEnv({ ...ruleSettings, ...thresholdSettings }, {}));
const beginMs = Date.parse('2026-01-31T02:00:00Z');

/** Returns the same random numbers in every run (mulberry32). */
function random(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const phoneOf = (vehicle) => String(138_000_000_000 + vehicle);
const clockOf = (ms) => new Date(ms + 8 * 3_600_000).toISOString().slice(0, 19);

/** Vehicles that drive through a city of 40 km and turn randomly; a batch contains each vehicle at most once. */
function driveAround() {
  const next = random(808);
  const cars = Array.from({ length: vehicleCount }, (_none, id) => ({
    phone: Buffer.from(phoneOf(id), 'hex'),
    place: destination(centre, next() * 360, next() * 20_000),
    course: next() * 360,
    serialNo: 0,
  }));
  const batches = [];
  for (let turn = 0; turn < warmUpReports + reportsEach; turn += 1) {
    const ms = beginMs + turn * everyMs;
    let batch = new TelemetryBatch();
    const parts = [];
    for (const car of cars) {
      const speedKmh = Math.round(next() * 900) / 10;
      car.course = (car.course + (next() - 0.5) * 60 + 360) % 360;
      car.place = destination(car.place, car.course, (speedKmh / 3.6) * (everyMs / 1000));
      car.serialNo += 1;
      const body = encodeBody(
        locationReport,
        {
          alarm: next() < 0.01 ? 1 << 5 : 0,
          status: 0b11,
          latitudeDeg: car.place[0],
          longitudeDeg: car.place[1],
          altitudeM: 20,
          speedKmh,
          directionDeg: Math.floor(car.course),
          time: clockOf(ms),
          extras: [
            createAdditionalItem(additionalItemDefinitions.mileage, { mileageKm: turn }),
            createAdditionalItem(additionalItemDefinitions.fuel, { fuelL: 50 }),
            createAdditionalItem(additionalItemDefinitions.satellites, { satellites: 9 }),
          ],
        },
        '2013',
      );
      batch.append(1, car.phone, 0x0200, car.serialNo, ms + 500, body);
      if (batch.count === reportsAtOnce) parts.push(batch.take());
    }
    if (batch.count > 0) parts.push(batch.take());
    batches.push(parts);
  }
  return batches;
}

const record = { createdAt: new Date(0), updatedAt: new Date(0), version: 1, accountId: 1 };

function geofences(count) {
  const next = random(1078);
  return Array.from({ length: count }, (_none, id) => {
    const middle = destination(centre, next() * 360, next() * 20_000);
    const isCircle = id % 2 === 0;
    const corner = (_corner, at) => destination(middle, at * 18, 150 + next() * 400);
    /** @type {import('../../services/platform-api/dist/domains/geofences/shapes.js').ShapeInput} */
    const given = isCircle
      ? { type: 'circle', positions: [middle], radiusM: 100 + next() * 400, widthM: null }
      : { type: 'polygon', positions: Array.from({ length: 20 }, corner), radiusM: null, widthM: null };
    return {
      ...record,
      ...buildShape(given),
      _id: id + 1,
      name: `Geofence ${id}`,
      notifyOn: ['enter', 'exit', 'dwell'],
      dwellSeconds: 300,
      speedLimitKmh: id % 10 === 0 ? 50 : null,
      schedule: null,
      vehicles: [],
      groups: [],
    };
  });
}

function routes(count) {
  const next = random(9);
  return Array.from({ length: count }, (_none, id) => {
    const line = [destination(centre, next() * 360, 15_000)];
    while (line.length < 500) line.push(destination(line.at(-1), next() * 90 + id * 90, 60));
    return { ...record, ...routeDefaults, ...createPath(line, 'client'), _id: id + 1, name: `Route ${id}` };
  });
}

const contextOf = (areas, lines) => ({
  vehicle: {
    id: 1,
    accountId: 1,
    ownerUserId: 1,
    vehicleNo: 'BENCH',
    imei: '1',
    timezone: 'Asia/Shanghai',
    cameraUtcOffset: offset,
    speedLimitKmh: 80,
    tankCapacityL: 60,
    driverId: null,
    odometerKm: 0,
    nextServiceKm: null,
  },
  geofences: areas,
  routes: lines,
  settings: defaultSettings,
});

const ignore = () => undefined;

function decodeOnly() {
  return (payload) => {
    let decoded = 0;
    for (const raw of readTelemetryBatch(payload)) decoded += decodeReport(raw, ignore).length;
    return { reports: decoded, findings: 0 };
  };
}

function throughRules(context, isStored) {
  const states = new Map();
  return (payload) => {
    let [reports, findings] = [0, 0];
    for (const raw of readTelemetryBatch(payload))
      for (const decoded of decodeReport(raw, ignore)) {
        if (decoded.kind === 'heartbeat') continue;
        reports += 1;
        const timestamp = deviceTimestamp(decoded, offset);
        const times = { timestamp, serverTimestamp: decoded.receivedAtMs, backfilled: false, slowSinceMs: null };
        const report = { ...decoded, isLate: false, position: { ...decoded.position, ...times, alarms: [] } };
        const kept = states.get(decoded.imei);
        const before = isStored && kept !== undefined ? JSON.parse(kept) : kept;
        const after = {};
        for (const rule of rules) {
          const outcome = rule.step(before?.[rule.name], report, context);
          if (outcome.state !== undefined) after[rule.name] = outcome.state;
          findings += outcome.findings.length;
        }
        states.set(decoded.imei, isStored ? JSON.stringify(after) : after);
      }
    return { reports, findings };
  };
}

function measure(apply, batches) {
  for (const part of batches.slice(0, warmUpReports).flat()) apply(part);
  const cpu = process.cpuUsage();
  const began = performance.now();
  const sum = { reports: 0, findings: 0 };
  for (const part of batches.slice(warmUpReports).flat()) {
    const { reports, findings } = apply(part);
    sum.reports += reports;
    sum.findings += findings;
  }
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: sum.reports / seconds, cpuUs: (user + system) / sum.reports, findings: sum.findings };
}

const median = (values) => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

const [few, many, lines] = [geofences(20), geofences(1000), routes(2)];
/** @type {[name: string, make: () => (payload: Buffer) => { reports: number, findings: number }][]} */
const workloads = [
  ['floor: decoded only', decodeOnly],
  ['all rules, no geofences', () => throughRules(contextOf([], []), false)],
  ['all rules, 20 geofences, 2 routes', () => throughRules(contextOf(few, lines), false)],
  ['all rules, 1,000 geofences, 2 routes', () => throughRules(contextOf(many, lines), false)],
  ['the same, states from and to JSON', () => throughRules(contextOf(many, lines), true)],
];
const batches = driveAround();
const measured = workloads.map(() => []);
for (let round = 0; round < rounds; round += 1)
  for (const [at, [, make]] of workloads.entries()) measured[at].push(measure(make(), batches));

const floorUs = median(measured[0].map(({ cpuUs }) => cpuUs));
console.log(`### rules on one core, ${vehicleCount} vehicles\n`);
console.log('| workload | runs | reports/s | CPU µs/report | of the floor | notifications |');
console.log('|---|---|---|---|---|---|');
for (const [at, [name]] of workloads.entries()) {
  const cpuUs = median(measured[at].map((run) => run.cpuUs));
  const perSecond = Math.round(median(measured[at].map((run) => run.perSecond)));
  const row = [name, rounds, perSecond, cpuUs.toFixed(2), (cpuUs / floorUs).toFixed(1), measured[at][0].findings];
  console.log(`| ${row.join(' | ')} |`);
}
