import { join } from 'node:path';
import { inUrl, isLoopback, localAddress, publicAddress } from './addresses.ts';
import type { BackendUrls } from './backends/start-backends.ts';
import type { LaunchOptions } from './options.ts';
import { proxyScript, sampleDir, serviceScript } from './paths.ts';
import type { Ports } from './ports.ts';
import type { Secrets } from './secrets.ts';
import type { ProcessSpec } from './supervised-process.ts';

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

interface ServicePlan {
  name: string;
  /** Name of the service, if one service runs as several processes. */
  service?: string;
  httpPort: number;
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

/**
 * Returns the six services, one of them as two processes, with their specific settings. `serviceSpecs` adds the common
 * ones.
 */
function planServices({ options, ports, secrets }: ServicesContext): ServicePlan[] {
  const getPublicHost = (variable: string): string => options.env[variable] ?? publicAddress(options.host);
  const media = {
    MEDIA_LIVE_PORT: String(ports.mediaLive),
    MEDIA_HISTORY_PORT: String(ports.mediaHistory),
    MEDIA_TALK_PORT: String(ports.mediaTalk),
  };
  const reached = inUrl(localAddress(options.host));
  const mediaHttp = `http://${reached}:${ports.mediaHttp}`;
  const publicUrl = options.env['PUBLIC_BASE_URL'] ?? `http://${inUrl(publicAddress(options.host))}:${ports.proxy}`;
  const streamTokens = { STREAM_TOKEN_SECRET: options.env['STREAM_TOKEN_SECRET'] ?? secrets.streamTokenSecret };
  const platform = {
    ...streamTokens,
    BOOTSTRAP_OWNER_EMAIL: demoEmail,
    BOOTSTRAP_OWNER_PASSWORD: secrets.demoPassword,
    BOOTSTRAP_API_KEY: secrets.demoApiKey,
    ...(options.simulator ? { BOOTSTRAP_DEMO_TERMINALS: demoTerminals.join(',') } : {}),
    ENCRYPTION_KEY: options.env['ENCRYPTION_KEY'] ?? secrets.encryptionKey,
    CHAT_GENERIC_SECRET: options.env['CHAT_GENERIC_SECRET'] ?? secrets.chatGenericSecret,
    CLIPS_SIGNING_SECRET: secrets.clipsSigningSecret,
    // Samples, so that the demo returns real data; an empty value disables them.
    ROAD_NETWORK_FILE: options.env['ROAD_NETWORK_FILE'] ?? join(sampleDir, 'sample-roads.geojson'),
    TOLL_GATES_FILE: options.env['TOLL_GATES_FILE'] ?? join(sampleDir, 'sample-toll-gates.csv'),
    PUBLIC_BASE_URL: publicUrl,
    VIDEO_BASE_URL: options.env['VIDEO_BASE_URL'] ?? `http://${inUrl(publicAddress(options.host))}:${ports.video}`,
  };
  return [
    {
      name: 'jt808-gateway',
      httpPort: ports.gatewayHttp,
      isPublic: true,
      env: {
        JT808_PORT: String(ports.jt808),
        GATEWAY_AUTH_SECRET: secrets.gatewayAuthSecret,
      },
      forceStopAfterMs: gatewayForceStopAfterMs,
    },
    {
      name: 'jt1078-media',
      httpPort: ports.mediaHttp,
      isPublic: true,
      env: { ...media, MEDIA_HTTP_URL: mediaHttp, MEDIA_SIGNING_SECRET: secrets.mediaSigningSecret },
    },
    {
      name: 'device-api',
      httpPort: ports.deviceApi,
      isPublic: true,
      env: {
        ...media,
        ...streamTokens,
        PUBLIC_BASE_URL: publicUrl,
        VIDEO_HTTP_PORT: String(ports.video),
        MEDIA_PUBLIC_HOST: getPublicHost('MEDIA_PUBLIC_HOST'),
        MEDIA_SIGNING_SECRET: secrets.mediaSigningSecret,
        CLIPS_SIGNING_SECRET: secrets.clipsSigningSecret,
        DEVICE_API_AUTH: deviceApiAuth(options),
      },
    },
    {
      name: 'platform-api',
      httpPort: ports.platformApi,
      isPublic: false,
      env: { ...platform, POD_ID: 'platform-api', PLATFORM_ROLES: 'api,websocket' },
    },
    {
      name: 'platform-telemetry',
      service: 'platform-api',
      httpPort: ports.platformTelemetry,
      isPublic: false,
      // A fixed name: after a crash the next process takes over the telemetry partitions immediately.
      env: { ...platform, POD_ID: 'platform-telemetry', PLATFORM_ROLES: 'telemetry' },
    },
    {
      name: 'upload-ftp',
      httpPort: ports.ftpHttp,
      isPublic: true,
      env: {
        FTP_PORT: String(ports.ftp),
        FTP_PUBLIC_HOST: getPublicHost('FTP_PUBLIC_HOST'),
        FTP_PASV_MIN: String(ports.ftpPasvMin),
        FTP_PASV_MAX: String(ports.ftpPasvMax),
        ATTACHMENT_PORT: String(ports.attachments),
        CLIPS_DIR: join(options.dataDir, 'clips'),
        CLIPS_SIGNING_SECRET: secrets.clipsSigningSecret,
        MEDIA_SIGNING_SECRET: secrets.mediaSigningSecret,
        UPLOAD_HTTP_URL: `http://${reached}:${ports.ftpHttp}`,
        // The name belongs to the directory: after a restart its clips still belong to this pod.
        POD_ID: 'upload-ftp',
      },
    },
    {
      name: 'webhook-dispatcher',
      httpPort: ports.webhookHttp,
      isPublic: false,
      env: { ENCRYPTION_KEY: options.env['ENCRYPTION_KEY'] ?? secrets.encryptionKey },
    },
  ];
}

/** Returns the status of a URL; undefined if there is no response. */
async function fetchStatus(url: string): Promise<number | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    await response.body?.cancel();
    return response.status;
  } catch (error) {
    if (error instanceof TypeError || error instanceof DOMException) return undefined;
    throw error;
  }
}

export const respondsOk = async (url: string): Promise<boolean> => (await fetchStatus(url)) === 200;

const serviceTier = 1;
const proxyTier = 2;
const readyTimeoutMs = 120_000;

const bindHost = (plan: ServicePlan, options: LaunchOptions): string => (plan.isPublic ? options.host : '127.0.0.1');

/** Returns the HTTP base of each service, for health, readiness and metrics. */
export function serviceUrls(context: ServicesContext): Record<string, string> {
  return Object.fromEntries(
    planServices(context).map((plan) => {
      const host = inUrl(localAddress(bindHost(plan, context.options)));
      return [plan.name, `http://${host}:${plan.httpPort}`];
    }),
  );
}

export function serviceSpecs(context: ServicesContext): ProcessSpec[] {
  const { options, urls, logDir } = context;
  // A POD_ID or port intended for one process must not reach all of them.
  const { POD_ID: _podId, HTTP_PORT: _httpPort, ...inherited } = options.env;
  const bases = serviceUrls(context);
  return planServices(context).map((plan) => ({
    name: plan.name,
    tier: serviceTier,
    command: process.execPath,
    args: ['--enable-source-maps', serviceScript(plan.service ?? plan.name)],
    env: {
      NODE_ENV: 'development',
      // Node.js 22 and later reuse compiled code from an earlier start, which takes about a fifth less CPU.
      NODE_COMPILE_CACHE: join(options.cacheDir, 'compiled'),
      ...inherited,
      ...urls,
      ...plan.env,
      HOST: bindHost(plan, options),
      HTTP_PORT: String(plan.httpPort),
    },
    logFile: join(logDir, `${plan.name}.log`),
    isReady: () => respondsOk(`${bases[plan.name]}/readyz`),
    readyTimeoutMs,
    ...(plan.forceStopAfterMs === undefined ? {} : { forceStopAfterMs: plan.forceStopAfterMs }),
  }));
}

export function proxySpec({ options, ports, logDir, ...rest }: ServicesContext): ProcessSpec {
  const bases = serviceUrls({ options, ports, logDir, ...rest });
  const base = `http://${inUrl(localAddress(options.host))}:${ports.proxy}`;
  return {
    name: 'reverse-proxy',
    tier: proxyTier,
    command: process.execPath,
    args: ['--enable-source-maps', proxyScript],
    env: {
      ...options.env,
      HOST: options.host,
      HTTP_PORT: String(ports.proxy),
      DEVICE_API_URL: bases['device-api'],
      PLATFORM_API_URL: bases['platform-api'],
    },
    logFile: join(logDir, 'reverse-proxy.log'),
    // Any response from a service behind the proxy, on a path that does not count against the caller's limit.
    isReady: async () => ![undefined, 502].includes(await fetchStatus(`${base}/livez`)),
    readyTimeoutMs,
  };
}
