import { join } from 'node:path';
import { inUrl, localAddress } from './addresses.ts';
import type { LaunchOptions } from './options.ts';
import { proxyScript, serviceScript } from './paths.ts';
import { demoEmail, planServices, type ServicePlan, type ServicesContext } from './service-plans.ts';
import type { ProcessSpec } from './supervised-process.ts';

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

const adminHost = '127.0.0.1';

/** Returns the base URL of each process's health and metrics. */
export const adminUrls = (context: ServicesContext): Record<string, string> =>
  Object.fromEntries(planServices(context).map(({ name, adminPort }) => [name, `http://${adminHost}:${adminPort}`]));

export function serviceSpecs(context: ServicesContext): ProcessSpec[] {
  const { options, urls, logDir } = context;
  // A POD_ID or port intended for one process must not reach all of them.
  const { POD_ID: _podId, HTTP_PORT: _httpPort, ADMIN_PORT: _adminPort, ...inherited } = options.env;
  const bases = adminUrls(context);
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
      ...(plan.httpPort === undefined ? {} : { HTTP_PORT: String(plan.httpPort) }),
      ADMIN_HOST: adminHost,
      ADMIN_PORT: String(plan.adminPort),
    },
    logFile: join(logDir, `${plan.name}.log`),
    isReady: () => respondsOk(`${bases[plan.name]}/readyz`),
    readyTimeoutMs,
    ...(plan.forceStopAfterMs === undefined ? {} : { forceStopAfterMs: plan.forceStopAfterMs }),
  }));
}

/** Settings of the demo part of the proxy. */
const demoSettings = ({ ports, secrets, options }: ServicesContext, base: string): Record<string, string> => ({
  DEMO_ORIGIN: base,
  DEMO_EMAIL: demoEmail,
  DEMO_PASSWORD: secrets.demoPassword,
  ...(options.simulator ? { DEMO_SIMULATOR_URL: `http://127.0.0.1:${ports.simulatorControl}` } : {}),
});

export function proxySpec(context: ServicesContext): ProcessSpec {
  const { options, ports, logDir } = context;
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
      DEVICE_API_URL: `http://${inUrl(localAddress(options.host))}:${ports.deviceApi}`,
      PLATFORM_API_URL: `http://127.0.0.1:${ports.platformApi}`,
      ...demoSettings(context, base),
    },
    logFile: join(logDir, 'reverse-proxy.log'),
    // Any response of a service, on a path that does not count against the caller's limit.
    isReady: async () => ![undefined, 502].includes(await fetchStatus(`${base}/developers`)),
    readyTimeoutMs,
  };
}
