import { join } from 'node:path';
import { inUrl, localAddress } from './addresses.ts';
import type { LaunchOptions } from './options.ts';
import { proxyScript, serviceScript } from './paths.ts';
import { planServices, type ServicePlan, type ServicesContext } from './service-plans.ts';
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
