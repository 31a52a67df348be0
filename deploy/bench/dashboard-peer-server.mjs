// Stands in for a Traccar server: the built web client of Traccar, its requests, and a websocket with the same vehicles and
// batches as dashboard-server.mjs. Usage: node dashboard-peer-server.mjs FOLDER VEHICLES UPDATES
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DrivingVehicles } from './dashboard-vehicles.mjs';

const { WebSocketServer } = createRequire(new URL('../../services/platform-api/package.json', import.meta.url))('ws');
const [folder = '', ...counts] = process.argv.slice(2);
const vehicles = new DrivingVehicles(Number(counts[0]), Number(counts[1]));
const types = {
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.html': 'text/html',
  '.svg': 'image/svg+xml',
};
const knotsPerKmh = 0.539957;

const toDevice = ({ id, state, atMs }) => ({
  id,
  name: `Truck ${id}`,
  uniqueId: String(13_900_000_000 + id),
  status: state === 'offline' ? 'offline' : 'online',
  disabled: false,
  lastUpdate: new Date(atMs).toISOString(),
  positionId: id,
  groupId: 0,
  category: 'truck',
  attributes: {},
});

const toPosition = ({ id, latitude, longitude, speed, course, atMs }) => ({
  id,
  deviceId: id,
  protocol: 'jt808',
  serverTime: new Date(atMs).toISOString(),
  deviceTime: new Date(atMs).toISOString(),
  fixTime: new Date(atMs).toISOString(),
  valid: true,
  outdated: false,
  latitude,
  longitude,
  altitude: 12,
  speed: speed * knotsPerKmh,
  course,
  address: null,
  accuracy: 0,
  network: null,
  attributes: { ignition: speed > 0, motion: speed > 0, totalDistance: 20_412_400 },
});

// A map of image tiles, whose style needs no request.
const attributes = { activeMapStyles: 'osm', selectedMapStyle: 'osm' };
const user = { id: 1, name: 'Bench', email: 'bench@fleet.example', administrator: false, readonly: false, attributes };
const responses = {
  '/api/server': () => ({ id: 1, registration: false, readonly: false, attributes: {}, newServer: false }),
  '/api/session': () => user,
  '/api/devices': () => vehicles.all.map(toDevice),
  '/api/positions': () => vehicles.all.map(toPosition),
};

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  const send = (type, body) =>
    response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' }).end(gzipSync(body));
  if (pathname.startsWith('/api/')) {
    send('application/json', JSON.stringify(responses[pathname]?.() ?? []));
    return;
  }
  const file = join(folder, pathname);
  const isFile = pathname !== '/' && existsSync(file);
  send(
    isFile ? (types[extname(file)] ?? 'application/octet-stream') : 'text/html',
    readFileSync(isFile ? file : join(folder, 'index.html')),
  );
});

const sockets = new WebSocketServer({ server, path: '/api/socket', perMessageDeflate: { threshold: 1_024 } });
sockets.on('connection', (socket) => {
  socket.send(JSON.stringify({ devices: vehicles.all.map(toDevice) }));
  socket.send(JSON.stringify({ positions: vehicles.all.map(toPosition) }));
});
vehicles.start((batch) => {
  const text = JSON.stringify({ positions: batch.map(toPosition) });
  for (const socket of sockets.clients) socket.send(text);
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`);
});
