import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';
import { errorCode } from './start-error.ts';

const defaults = {
  proxy: 8080,
  video: 8081,
  platformApi: 8082,
  deviceApi: 8083,
  gatewayAdmin: 8084,
  mediaHttp: 8085,
  ftpHttp: 8086,
  webhookAdmin: 8087,
  platformTelemetryAdmin: 8088,
  platformAdmin: 8094,
  deviceApiAdmin: 8091,
  mediaAdmin: 8092,
  ftpAdmin: 8093,
  simulatorControl: 8089,
  jt808: 7808,
  mediaLive: 7078,
  mediaHistory: 7079,
  mediaTalk: 7090,
  attachments: 7077,
  ftp: 2121,
  ftpPasvMin: 30_000,
  ftpPasvMax: 30_099,
  nats: 14_222,
  redis: 16_379,
  mongodb: 27_117,
};

export type PortName = keyof typeof defaults;
export type Ports = Record<PortName, number>;

/** The highest offset with which every port is still valid. */
export const maxPortOffset = 65_535 - defaults.ftpPasvMax;

/** Returns the default ports, all moved by one offset, so that several checkouts run side by side. */
export function planPorts(offset: number): Ports {
  const entries = Object.entries(defaults).map(([name, port]) => [name, port + offset]);
  return Object.fromEntries(entries) as Ports;
}

const httpPortNames: readonly PortName[] = [
  'proxy',
  'video',
  'platformApi',
  'deviceApi',
  'gatewayAdmin',
  'mediaHttp',
  'ftpHttp',
  'webhookAdmin',
  'platformTelemetryAdmin',
  'platformAdmin',
  'deviceApiAdmin',
  'mediaAdmin',
  'ftpAdmin',
];

/**
 * Port that browsers and `fetch` refuse (WHATWG Fetch, "port blocking"); the others of that list are below all ports of
 * the product.
 */
export const blockedHttpPort = 10_080;

/** Returns whether an offset moves one of the HTTP ports to a port that browsers refuse. */
export function hitsBlockedPort(offset: number): boolean {
  const ports = planPorts(offset);
  return httpPortNames.some((name) => ports[name] === blockedHttpPort);
}

/** One port that a start needs exclusively. */
interface PortClaim {
  purpose: string;
  host: string;
  port: number;
  protocol: 'tcp' | 'udp';
}

const publicPorts: [PortName, string][] = [
  ['proxy', 'the reverse proxy'],
  ['video', 'the video service'],
  ['deviceApi', 'device-api'],
  ['mediaHttp', 'jt1078-media (HTTP)'],
  ['ftpHttp', 'upload-ftp (HTTP)'],
  ['jt808', 'JT/T 808'],
  ['mediaLive', 'JT/T 1078 live'],
  ['mediaHistory', 'JT/T 1078 history'],
  ['mediaTalk', 'JT/T 1078 talk'],
  ['ftp', 'FTP'],
  ['attachments', 'attachments of alarms'],
];

const loopbackPorts: [PortName, string][] = [
  ['platformApi', 'platform-api'],
  ['gatewayAdmin', 'jt808-gateway (admin)'],
  ['webhookAdmin', 'webhook-dispatcher (admin)'],
  ['platformTelemetryAdmin', 'platform-telemetry (admin)'],
  ['platformAdmin', 'platform-api (admin)'],
  ['deviceApiAdmin', 'device-api (admin)'],
  ['mediaAdmin', 'jt1078-media (admin)'],
  ['ftpAdmin', 'upload-ftp (admin)'],
  ['simulatorControl', 'the simulated fleet (HTTP)'],
];

/** Returns every port of a start: the public ones on `host`, the others and the embedded backends on loopback. */
export function claimPorts(
  ports: Ports,
  host: string,
  backends: readonly ('nats' | 'redis' | 'mongodb')[],
): PortClaim[] {
  const claim = (claimHost: string, name: PortName, purpose: string): PortClaim => ({
    purpose,
    host: claimHost,
    port: ports[name],
    protocol: 'tcp',
  });
  const claims = [
    ...publicPorts.map(([name, purpose]) => claim(host, name, purpose)),
    ...loopbackPorts.map(([name, purpose]) => claim('127.0.0.1', name, purpose)),
    ...backends.map((name) => claim('127.0.0.1', name, `the embedded backend ${name}`)),
  ];
  for (const name of ['mediaLive', 'mediaHistory', 'mediaTalk'] as const) {
    claims.push({ ...claim(host, name, 'JT/T 1078'), protocol: 'udp' });
  }
  for (let port = ports.ftpPasvMin; port <= ports.ftpPasvMax; port++) {
    claims.push({ purpose: 'FTP data', host, port, protocol: 'tcp' });
  }
  return claims;
}

function bindTcp(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve()));
  });
}

function bindUdp(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
    socket.once('error', (error) => {
      socket.close();
      reject(error);
    });
    socket.bind({ address: host, port, exclusive: true }, () => socket.close(() => resolve()));
  });
}

/**
 * Returns the first claim that cannot be bound, with the system's error code (`EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`
 * …).
 */
export async function findTakenPort(
  claims: readonly PortClaim[],
): Promise<{ claim: PortClaim; reason: string } | undefined> {
  for (const claim of claims) {
    try {
      await (claim.protocol === 'tcp' ? bindTcp : bindUdp)(claim.host, claim.port);
    } catch (error) {
      return { claim, reason: errorCode(error) ?? String(error) };
    }
  }
  return undefined;
}

/** Describes a port that cannot be bound, and a solution, in one sentence. */
export function describeTakenPort({ claim, reason }: { claim: PortClaim; reason: string }): string {
  const where = `${claim.protocol.toUpperCase()} port ${claim.port} on ${claim.host}`;
  if (reason === 'EADDRINUSE') {
    return `${where} (${claim.purpose}) is taken: stop the program that uses it, or move all ports with PORT_OFFSET=100 npm start.`;
  }
  if (reason === 'EADDRNOTAVAIL')
    return `This machine has no address ${claim.host}: set HOST to one of its own addresses.`;
  return `${where} (${claim.purpose}) cannot be opened (${reason}): choose other ports with PORT_OFFSET=100 npm start.`;
}

// Multiples of 100 keep the passive FTP ranges of two products apart and stay below the system's ephemeral ports.
const candidateOffsets = Array.from({ length: 24 }, (_, i) => (i + 3) * 100).filter(
  (offset) => !hitsBlockedPort(offset),
);

const isFree = async (offset: number): Promise<boolean> =>
  (await findTakenPort(claimPorts(planPorts(offset), '127.0.0.1', ['nats', 'redis', 'mongodb']))) === undefined;

/** Returns the candidates in random order, so that concurrent starts seldom try the same one first. */
function shuffledOffsets(): number[] {
  return candidateOffsets
    .map((offset) => ({ offset, order: Math.random() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ offset }) => offset);
}

const noFreePortsError = (): Error =>
  new Error(`No port offset from ${candidateOffsets[0]} to ${candidateOffsets.at(-1)} has only free ports`);

/** Returns an offset whose ports are all free at present, for tests that run alongside other checkouts. */
export async function findFreeOffset(): Promise<number> {
  for (const offset of shuffledOffsets()) if (await isFree(offset)) return offset;
  throw noFreePortsError();
}

/** An offset that no other start gets before `release`. Call it once the ports are bound. */
interface ClaimedOffset {
  readonly offset: number;
  readonly release: () => Promise<void>;
}

/** Returns a port from 7200 to 7209, which no product uses. Offsets that are 1000 apart share it. */
const getLockPort = (offset: number): number => 7_200 + ((offset / 100) % 10);

/**
 * Binds a port as a lock between processes, which the system releases when they die. Returns undefined if another
 * process has it.
 */
function bindLock(port: number): Promise<ClaimedOffset['release'] | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', () => resolve(undefined));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () =>
      resolve(() => new Promise((released) => server.close(() => released()))),
    );
  });
}

/** Claims an offset whose ports are all free, so that concurrent starts get different ones. */
export async function claimFreeOffset(): Promise<ClaimedOffset> {
  for (const offset of shuffledOffsets()) {
    const release = await bindLock(getLockPort(offset));
    if (release === undefined) continue;
    if (await isFree(offset)) return { offset, release };
    await release();
  }
  throw noFreePortsError();
}
