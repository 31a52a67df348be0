import { join } from 'node:path';
import { inUrl, isLoopback, localAddress, publicAddress } from './addresses.ts';
import type { BackendUrls } from './backends/start-backends.ts';
import type { LaunchOptions } from './options.ts';
import { dashboardDir, sampleDir } from './paths.ts';
import type { Ports } from './ports.ts';
import type { Secrets } from './secrets.ts';

export const demoEmail = 'demo@fleet.example';

/** Numbers of the simulated fleet's terminals: two of edition 2013, one of 2019. */
export const demoTerminals: readonly string[] = ['013800138001', '013800138002', '00000000013800138003'];

export interface ServicesContext {
  options: LaunchOptions;
  ports: Ports;
  secrets: Secrets;
  urls: BackendUrls;
  logDir: string;
}

/** One process of a service, with its specific settings. */
export interface ServicePlan {
  name: string;
  /** Name of the service, if one service runs as several processes. */
  service?: string;
  /** Absent if the process serves only health and metrics over HTTP. */
  httpPort?: number;
  /** Serves health and metrics on loopback. */
  adminPort: number;
  /** Whether partners or terminals connect to it directly; the others stay on loopback behind the proxy. */
  isPublic: boolean;
  env: Record<string, string>;
  forceStopAfterMs?: number;
}

/** A user waits after Ctrl-C: the gateway does not wait for sleeping devices as long as when it is replaced. */
const gatewayForceStopAfterMs = 3_000;

/** Returns whether the Device API requires a key: off on loopback, which is also the services' default. */
export function deviceApiAuth({ env, host }: LaunchOptions): 'off' | 'key' {
  const given = env['DEVICE_API_AUTH'];
  if (given === 'off' || given === 'key') return given;
  return isLoopback(host) ? 'off' : 'key';
}

const publicHost = ({ options }: ServicesContext, variable: string): string =>
  options.env[variable] ?? publicAddress(options.host);

const publicUrl = ({ options, ports }: ServicesContext): string =>
  options.env['PUBLIC_BASE_URL'] ?? `http://${inUrl(publicAddress(options.host))}:${ports.proxy}`;

/** Returns the base URL of a port on this machine. */
const localUrl = ({ options }: ServicesContext, port: number): string =>
  `http://${inUrl(localAddress(options.host))}:${port}`;

const mediaPorts = ({ ports }: ServicesContext) => ({
  MEDIA_LIVE_PORT: String(ports.mediaLive),
  MEDIA_HISTORY_PORT: String(ports.mediaHistory),
  MEDIA_TALK_PORT: String(ports.mediaTalk),
});

const streamTokens = ({ options, secrets }: ServicesContext) => ({
  STREAM_TOKEN_SECRET: options.env['STREAM_TOKEN_SECRET'] ?? secrets.streamTokenSecret,
});

const encryption = ({ options, secrets }: ServicesContext) => ({
  ENCRYPTION_KEY: options.env['ENCRYPTION_KEY'] ?? secrets.encryptionKey,
});

const gateway = ({ ports, secrets }: ServicesContext): ServicePlan => ({
  name: 'jt808-gateway',
  adminPort: ports.gatewayAdmin,
  isPublic: true,
  env: {
    JT808_PORT: String(ports.jt808),
    GATEWAY_AUTH_SECRET: secrets.gatewayAuthSecret,
  },
  forceStopAfterMs: gatewayForceStopAfterMs,
});

const media = (context: ServicesContext): ServicePlan => ({
  name: 'jt1078-media',
  httpPort: context.ports.mediaHttp,
  adminPort: context.ports.mediaAdmin,
  isPublic: true,
  env: {
    ...mediaPorts(context),
    MEDIA_HTTP_URL: localUrl(context, context.ports.mediaHttp),
    MEDIA_SIGNING_SECRET: context.secrets.mediaSigningSecret,
  },
});

const deviceApi = (context: ServicesContext): ServicePlan => ({
  name: 'device-api',
  httpPort: context.ports.deviceApi,
  adminPort: context.ports.deviceApiAdmin,
  isPublic: true,
  env: {
    ...mediaPorts(context),
    ...streamTokens(context),
    PUBLIC_BASE_URL: publicUrl(context),
    VIDEO_HTTP_PORT: String(context.ports.video),
    MEDIA_PUBLIC_HOST: publicHost(context, 'MEDIA_PUBLIC_HOST'),
    MEDIA_SIGNING_SECRET: context.secrets.mediaSigningSecret,
    CLIPS_SIGNING_SECRET: context.secrets.clipsSigningSecret,
    DEVICE_API_AUTH: deviceApiAuth(context.options),
  },
});

function platformSettings(context: ServicesContext): Record<string, string> {
  const { options, ports, secrets } = context;
  const { env } = options;
  return {
    ...streamTokens(context),
    ...encryption(context),
    BOOTSTRAP_OWNER_EMAIL: demoEmail,
    BOOTSTRAP_OWNER_PASSWORD: secrets.demoPassword,
    BOOTSTRAP_API_KEY: secrets.demoApiKey,
    ...(options.simulator ? { BOOTSTRAP_DEMO_TERMINALS: demoTerminals.join(',') } : {}),
    CHAT_GENERIC_SECRET: env['CHAT_GENERIC_SECRET'] ?? secrets.chatGenericSecret,
    CLIPS_SIGNING_SECRET: secrets.clipsSigningSecret,
    // Samples, so that the demo returns real data; an empty value disables them.
    ROAD_NETWORK_FILE: env['ROAD_NETWORK_FILE'] ?? join(sampleDir, 'sample-roads.geojson'),
    TOLL_GATES_FILE: env['TOLL_GATES_FILE'] ?? join(sampleDir, 'sample-toll-gates.csv'),
    DEMO_MENU: String(options.simulator),
    DASHBOARD_DIR: options.env['DASHBOARD_DIR'] ?? dashboardDir,
    PUBLIC_BASE_URL: publicUrl(context),
    VIDEO_BASE_URL: env['VIDEO_BASE_URL'] ?? `http://${inUrl(publicAddress(options.host))}:${ports.video}`,
  };
}

/** Returns the two processes of platform-api. */
function platform(context: ServicesContext): ServicePlan[] {
  const settings = platformSettings(context);
  const { ports } = context;
  return [
    {
      name: 'platform-api',
      httpPort: ports.platformApi,
      adminPort: ports.platformAdmin,
      isPublic: false,
      env: { ...settings, POD_ID: 'platform-api', PLATFORM_ROLES: 'api,websocket' },
    },
    {
      name: 'platform-telemetry',
      service: 'platform-api',
      adminPort: ports.platformTelemetryAdmin,
      isPublic: false,
      // A fixed name: after a crash the next process takes over the telemetry partitions immediately.
      env: { ...settings, POD_ID: 'platform-telemetry', PLATFORM_ROLES: 'telemetry' },
    },
  ];
}

const uploadFtp = (context: ServicesContext): ServicePlan => ({
  name: 'upload-ftp',
  httpPort: context.ports.ftpHttp,
  adminPort: context.ports.ftpAdmin,
  isPublic: true,
  env: {
    FTP_PORT: String(context.ports.ftp),
    FTP_PUBLIC_HOST: publicHost(context, 'FTP_PUBLIC_HOST'),
    FTP_PASV_MIN: String(context.ports.ftpPasvMin),
    FTP_PASV_MAX: String(context.ports.ftpPasvMax),
    ATTACHMENT_PORT: String(context.ports.attachments),
    CLIPS_DIR: join(context.options.dataDir, 'clips'),
    CLIPS_SIGNING_SECRET: context.secrets.clipsSigningSecret,
    MEDIA_SIGNING_SECRET: context.secrets.mediaSigningSecret,
    UPLOAD_HTTP_URL: localUrl(context, context.ports.ftpHttp),
    // The name belongs to the directory: after a restart its clips still belong to this pod.
    POD_ID: 'upload-ftp',
  },
});

const webhookDispatcher = (context: ServicesContext): ServicePlan => ({
  name: 'webhook-dispatcher',
  adminPort: context.ports.webhookAdmin,
  isPublic: false,
  env: encryption(context),
});

/**
 * Returns the six services, one of them as two processes, with their specific settings. `serviceSpecs` adds the common
 * ones.
 */
export const planServices = (context: ServicesContext): ServicePlan[] => [
  gateway(context),
  media(context),
  deviceApi(context),
  ...platform(context),
  uploadFtp(context),
  webhookDispatcher(context),
];
