import cors from 'cors';
import type { RequestHandler } from 'express';
import { ConfigError } from '../runtime/config.ts';

const loopbackNames = ['127.0.0.1', 'localhost', '[::1]'];
/** How long browsers cache the response to a preflight. */
const preflightSeconds = 600;

/** Returns the origin of a URL. A loopback URL stands for all loopback names of the machine. */
export function originsOf(url: string): ReadonlySet<string> {
  const { origin, protocol, hostname, port } = new URL(url);
  if (!loopbackNames.includes(hostname)) return new Set([origin]);
  return new Set(loopbackNames.map((name) => `${protocol}//${name}${port === '' ? '' : `:${port}`}`));
}

/** Returns the entries of a setting with origins, separated by commas; throws a ConfigError for another entry. */
export function parseOrigins(name: string, setting: string): ReadonlySet<string> {
  const entries = setting.split(',').map((entry) => entry.trim().replace(/\/$/, ''));
  const origins = entries.filter((entry) => entry !== '');
  const wrong = origins.find((entry) => entry !== '*' && !isOrigin(entry));
  if (wrong !== undefined)
    throw new ConfigError(`${name} contains "${wrong}", which is not an origin such as https://fleet.example.`);
  return new Set(origins);
}

/** Wildcards in host names are valid URLs, but match no origin. */
const isOrigin = (text: string): boolean => !text.includes('*') && URL.canParse(text) && new URL(text).origin === text;

/**
 * Permits pages of other origins to read responses, errors included, and responds to their preflights. Never with
 * cookies: callers send their credentials in headers or in the URL. `*` permits every origin.
 */
export const allowOrigins = (origins: ReadonlySet<string>): RequestHandler =>
  cors({
    origin: origins.has('*') ? '*' : [...origins],
    methods: ['GET', 'HEAD', 'POST'],
    allowedHeaders: ['authorization', 'x-api-key', 'content-type'],
    exposedHeaders: ['retry-after', 'x-request-id'],
    maxAge: preflightSeconds,
    // The route table responds to OPTIONS.
    preflightContinue: true,
  });
