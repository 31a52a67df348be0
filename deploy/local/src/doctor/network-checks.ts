import { lookup } from 'node:dns/promises';
import { connect } from 'node:net';
import { connect as connectTls, type DetailedPeerCertificate } from 'node:tls';
import { dayMs } from '@fleet/service-kit';
import { type Check, type Finding, failed, ok, warning } from './check.ts';
import type { DoctorOptions, PortTarget } from './doctor-options.ts';

const warnSkewMs = 5_000;
const maxSkewMs = 60_000;
const renewalDays = 14;

const formatTarget = ({ host, port }: PortTarget): string => `${host}:${port}`;

function toTarget(name: string, url: string): PortTarget {
  const { hostname, port, protocol } = new URL(url);
  const host = hostname.replaceAll(/^\[|\]$/g, '');
  return { name, host, port: Number(port) || (protocol === 'https:' ? 443 : 80) };
}

const urlsOf = ({ baseUrl, videoUrl }: DoctorOptions): [name: string, url: string][] =>
  videoUrl === undefined
    ? [['API', baseUrl]]
    : [
        ['API', baseUrl],
        ['video service', videoUrl],
      ];

/** Returns the checks that need no credentials: names, ports, certificates and the clock. */
export function createNetworkChecks(options: DoctorOptions): Check[] {
  const targets = [...urlsOf(options).map(([name, url]) => toTarget(name, url)), ...options.ports];
  const hosts = [...new Set(targets.map(({ host }) => host))];
  return [
    ...hosts.map(checkName),
    ...targets.map(checkPort),
    ...urlsOf(options)
      .filter(([, url]) => url.startsWith('https:'))
      .map(([name, url]) => checkCertificate(toTarget(name, url))),
    checkClock(options.baseUrl),
  ];
}

const checkName = (host: string): Check => ({
  name: `DNS: ${host}`,
  advice: `Create a DNS record for ${host}, or correct the option that names it.`,
  run: async () => {
    const addresses = await lookup(host, { all: true });
    return ok(addresses.map(({ address }) => address).join(', '));
  },
});

const checkPort = (target: PortTarget): Check => ({
  name: `Port: ${target.name} ${formatTarget(target)}`,
  timeoutMs: 10_000,
  advice: `Start the service, and open ${formatTarget(target)} in the firewall and the load balancer.`,
  run: (signal) =>
    new Promise<Finding>((resolve, reject) => {
      const socket = connect({ host: target.host, port: target.port });
      socket.once('connect', () => resolve(ok('accepts connections')));
      socket.once('error', reject);
      for (const event of ['connect', 'error']) socket.once(event, () => socket.destroy());
      signal.addEventListener('abort', () => socket.destroy());
    }),
});

const checkCertificate = (target: PortTarget): Check => ({
  name: `Certificate: ${formatTarget(target)}`,
  advice: 'Check that the port serves TLS with a certificate for this host.',
  run: (signal) =>
    new Promise<Finding>((resolve, reject) => {
      const { host, port } = target;
      // An invalid certificate is a finding, not the end of the check; nothing is sent over the connection.
      const socket = connectTls({ host, port, servername: host, rejectUnauthorized: false }, () => {
        resolve(judgeCertificate(socket.getPeerCertificate(true), socket.authorizationError));
        socket.destroy();
      });
      socket.once('error', reject);
      signal.addEventListener('abort', () => socket.destroy());
    }),
});

function judgeCertificate(certificate: DetailedPeerCertificate, error: Error | string | undefined | null): Finding {
  const endsAtMs = Date.parse(certificate.valid_to);
  const days = Math.floor((endsAtMs - Date.now()) / dayMs);
  const end = new Date(endsAtMs).toISOString().slice(0, 10);
  if (endsAtMs < Date.now())
    return failed(`The certificate has expired on ${end}.`, 'Renew the certificate, and check its automatic renewal.');
  if (error !== undefined && error !== null)
    return failed(
      `The certificate is not trusted (${error instanceof Error ? error.message : error}).`,
      'Use a certificate for this host from a public authority, or set NODE_EXTRA_CA_CERTS to that of your own.',
    );
  if (days < renewalDays)
    return warning(`The certificate expires on ${end}.`, 'Renew it, and check its automatic renewal.');
  return ok(`valid until ${end}`);
}

const checkClock = (baseUrl: string): Check => ({
  name: 'Clock',
  advice: 'Check that the API responds at the base URL.',
  run: async (signal) => {
    const sentAtMs = Date.now();
    const response = await fetch(`${baseUrl}/api/v1/health`, { signal });
    await response.body?.cancel();
    const dateMs = Date.parse(response.headers.get('date') ?? '');
    if (Number.isNaN(dateMs)) return warning('The API sends no Date header.', 'Check the reverse proxy.');
    // The header has whole seconds, and describes a moment between request and response.
    const skewMs = dateMs + 500 - (sentAtMs + Date.now()) / 2;
    const text = `The clock of the server differs by ${Math.round(Math.abs(skewMs) / 1000)} s.`;
    const advice = 'Synchronize the clocks of both machines (NTP): tokens and signed URLs depend on the time.';
    if (Math.abs(skewMs) > maxSkewMs) return failed(text, advice);
    return Math.abs(skewMs) > warnSkewMs ? warning(text, advice) : ok(text);
  },
});
