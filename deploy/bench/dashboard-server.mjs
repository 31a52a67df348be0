// A server of the dashboard that stands in for platform-api: the files of the build, the requests of the map page, and a
// websocket with as many positions as the benchmark requires. It runs in a process of its own.
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { DrivingVehicles } from './dashboard-vehicles.mjs';

const { WebSocketServer } = createRequire(new URL('../../services/platform-api/package.json', import.meta.url))('ws');
const app = fileURLToPath(new URL('../../services/dashboard/dist/app', import.meta.url));
const [vehicleCount, updatesPerSecond] = process.argv.slice(2).map(Number);
const vehicles = new DrivingVehicles(vehicleCount, updatesPerSecond);
const types = { '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.html': 'text/html' };
const columns =
  'vehicle_id vehicle_no name vehicle_type imei group_ids driver_id driver_name channel_ids access permissions state state_since connected latitude longitude speed course ignition gps_valid timestamp open_severity'.split(
    ' ',
  );
const toLocation = ({ id, latitude, longitude, speed, course, state, atMs }) => ({
  imei: String(13_900_000_000 + id),
  vehicle_id: id,
  latitude,
  longitude,
  altitude: 12,
  speed,
  course,
  gps_valid: true,
  satellites: 11,
  signal: 24,
  ignition: speed > 0,
  odometer_km: 20_412.4,
  fuel_l: 84,
  battery_percent: null,
  external_voltage: 27.1,
  alarms: [],
  driver_id: id,
  address: null,
  state,
  state_since: vehicles.startMs,
  source: 'jt808',
  backfilled: false,
  timestamp: atMs,
  server_timestamp: atMs,
});

const toRow = ({ id, latitude, longitude, speed, course, state, atMs }) => [
  id,
  `KL07CD${String(id).padStart(5, '0')}`,
  `Truck ${id}`,
  'truck',
  String(13_900_000_000 + id),
  [],
  id,
  `Driver ${id}`,
  [1, 2],
  'owner',
  ['view', 'live_video', 'history_video', 'notifications', 'commands'],
  state,
  vehicles.startMs,
  true,
  latitude,
  longitude,
  speed,
  course,
  speed > 0,
  true,
  atMs,
  id % 100 === 0 ? 'critical' : null,
];

const user = {
  id: 1,
  name: 'Bench',
  role: 'owner',
  account: { id: 1, name: 'Bench' },
  permissions: ['read', 'fleet', 'video', 'commands', 'self', 'sharing', 'administration', 'webhooks'],
  dashboard_api_key: 'fk_bench',
};
const page = { pagination: { total: 0, limit: 100, offset: 0 } };
const responses = {
  '/api/auth/refresh': () => ({ data: { access_token: 'bench', expires_in: 86_400, refresh_token: null } }),
  '/api/auth/me': () => ({ data: user }),
  '/api/user-preferences/me': () => ({ data: { language: 'en', timezone: 'UTC', dashboard: { single_keys: true } } }),
  '/api/user/generate-websocket-token': (port) => ({
    token: 'bench',
    expires_in: 300,
    ws_url: `ws://127.0.0.1:${port}/ws`,
  }),
  '/api/fleet': (_port, query) => {
    const sinceMs = Number(query.get('updated_since') ?? 0);
    const rows = vehicles.all.filter(({ atMs }) => atMs > sinceMs || sinceMs === 0).map(toRow);
    return { data: { columns, rows, removed: [], complete: sinceMs === 0, generated_at: new Date().toISOString() } };
  },
};

/** Compressed files by path: platform-api compresses each file once. */
const compressed = new Map();

function compressFile(file) {
  if (!compressed.has(file)) compressed.set(file, gzipSync(readFileSync(file)));
  return compressed.get(file);
}

const server = createServer((request, response) => {
  const port = getPort();
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  const send = (type, body) => response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' }).end(body);
  if (pathname.startsWith('/api/')) {
    const body = responses[pathname]?.(port, searchParams) ?? { data: [], meta: page };
    send('application/json', gzipSync(JSON.stringify(body)));
    return;
  }
  const file = join(app, pathname);
  if (pathname !== '/' && existsSync(file)) {
    send(types[extname(file)] ?? 'application/octet-stream', compressFile(file));
    return;
  }
  const config = {
    product_name: 'Bench',
    ws_url: `ws://127.0.0.1:${port}/ws`,
    video_url: `http://127.0.0.1:${port}`,
    map_sources: [],
  };
  const html = readFileSync(join(app, 'index.html'), 'utf8').replace('"__CONFIG__"', JSON.stringify(config));
  send('text/html', gzipSync(html));
});

const sockets = new WebSocketServer({ server, path: '/ws', perMessageDeflate: { threshold: 1_024 } });
const encode = (type, data) => ({ type, ts: Date.now(), data });
sockets.on('connection', (socket) => {
  socket.send(
    JSON.stringify(encode('hello', { connection_id: 'bench', user: 1, server_time: new Date().toISOString() })),
  );
  socket.on('message', (text) => {
    const { type, id = null } = JSON.parse(text);
    socket.send(JSON.stringify(encode(type === 'ping' ? 'pong' : 'subscribed', { subscriptions: [], id })));
  });
});

vehicles.start((batch) => {
  const messages = batch.map((vehicle) => encode('location', toLocation(vehicle)));
  const text = JSON.stringify(encode('batch', { messages }));
  for (const socket of sockets.clients) socket.send(text);
});

function getPort() {
  const address = server.address();
  return typeof address === 'object' ? address?.port : undefined;
}

server.listen(0, '127.0.0.1', () => process.stdout.write(`${getPort()}\n`));
