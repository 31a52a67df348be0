import { type PortName, type Ports, planPorts } from './ports.ts';

/** Name of the setting of each port. */
const settings: Readonly<Record<PortName, string>> = {
  proxy: 'HTTP_PORT of the reverse proxy',
  video: 'VIDEO_HTTP_PORT',
  platformApi: 'HTTP_PORT of platform-api',
  deviceApi: 'HTTP_PORT of device-api',
  mediaHttp: 'HTTP_PORT of jt1078-media',
  ftpHttp: 'HTTP_PORT of upload-ftp',
  gatewayAdmin: 'ADMIN_PORT of jt808-gateway',
  webhookAdmin: 'ADMIN_PORT of webhook-dispatcher',
  platformTelemetryAdmin: 'ADMIN_PORT of platform-telemetry',
  platformAdmin: 'ADMIN_PORT of platform-api',
  deviceApiAdmin: 'ADMIN_PORT of device-api',
  mediaAdmin: 'ADMIN_PORT of jt1078-media',
  ftpAdmin: 'ADMIN_PORT of upload-ftp',
  simulatorControl: 'the control port of the simulated fleet',
  jt808: 'JT808_PORT',
  mediaLive: 'MEDIA_LIVE_PORT',
  mediaHistory: 'MEDIA_HISTORY_PORT',
  mediaTalk: 'MEDIA_TALK_PORT',
  attachments: 'ATTACHMENT_PORT',
  ftp: 'FTP_PORT',
  ftpPasvMin: 'FTP_PASV_MIN',
  ftpPasvMax: 'FTP_PASV_MAX',
  nats: 'the port of NATS',
  redis: 'the port of Redis',
  mongodb: 'the port of the database',
};

/** Ports with one setting: a single one, or the passive ports of FTP. */
interface PortRange {
  readonly setting: string;
  readonly min: number;
  readonly max: number;
}

function portRanges(ports: Ports): PortRange[] {
  const names = (Object.keys(ports) as PortName[]).filter((name) => name !== 'ftpPasvMin' && name !== 'ftpPasvMax');
  return [
    ...names.map((name) => ({ setting: settings[name], min: ports[name], max: ports[name] })),
    { setting: `${settings.ftpPasvMin} to FTP_PASV_MAX`, min: ports.ftpPasvMin, max: ports.ftpPasvMax },
  ];
}

const firstShared = (a: PortRange, b: PortRange): number | null =>
  a.min <= b.max && b.min <= a.max ? Math.max(a.min, b.min) : null;

/** Describes two settings of one product that have the same port; returns undefined if all differ. */
export function describeOwnClash(ports: Ports): string | undefined {
  const ranges = portRanges(ports);
  for (const [index, range] of ranges.entries()) {
    for (const other of ranges.slice(index + 1)) {
      const port = firstShared(range, other);
      if (port !== null) return `${range.setting} and ${other.setting} would both be ${port}`;
    }
  }
  return undefined;
}

/**
 * Describes a port whose offset moves it to a port of another setting of a product without an offset; returns undefined
 * if there is none.
 */
export function describeMovedClash(offset: number): string | undefined {
  if (offset === 0) return undefined;
  const unmoved = portRanges(planPorts(0));
  for (const range of portRanges(planPorts(offset))) {
    for (const other of unmoved) {
      const port = firstShared(range, other);
      if (port !== null) return `${range.setting} would be ${port}, which is ${other.setting} of a start without it`;
    }
  }
  return undefined;
}
