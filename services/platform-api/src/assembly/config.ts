import { streamEnv } from '@fleet/bus';
import { adminSettings, ConfigError, type ConfigOf, commonEnv, envSchema, readEnv } from '@fleet/service-kit';
import { checkStreamTokenSettings, streamTokenSettings } from '@fleet/service-kit/stream-tokens';
import { accessSettings, checkAccessSettings } from '../access/access-settings.ts';
import { rateLimitSettings } from '../access/rate-limit-settings.ts';
import { billingSettings } from '../domains/billing/billing-settings.ts';
import { broadcastSettings } from '../domains/broadcasts/broadcast-settings.ts';
import { commandSettings } from '../domains/commands/command-settings.ts';
import { documentSettings } from '../domains/documents/document-settings.ts';
import { checkMediaSettings, mediaSettings } from '../domains/media/media-settings.ts';
import { messagingSettings } from '../domains/messaging/messaging-settings.ts';
import { partnerSettings } from '../domains/partners/partner-settings.ts';
import { webhookSettings } from '../domains/webhooks/webhook-settings.ts';
import { attachmentSettings } from '../event-consumers/attachment-settings.ts';
import { mailSettings, readSmtpServer } from '../mail/mail-settings.ts';
import { checkMapSettings, mapSettings } from '../maps/map-settings.ts';
import { checkDeliverySettings, deliverySettings } from '../notification-delivery/delivery-settings.ts';
import { thresholdSettings } from '../platform/thresholds.ts';
import { providerSettings } from '../providers/provider-settings.ts';
import { ruleSettings } from '../rules/rule-settings.ts';
import { bootstrapSettings } from './bootstrap-settings.ts';

/** All settings of the service: those of the process here, the others in the folder that uses them. */
export const schema = envSchema({
  ...commonEnv,
  HTTP_PORT: {
    type: 'integer',
    minimum: 0,
    maximum: 65_535,
    default: 8082,
    description: 'port of the Platform API, the start page and the dashboard; 0 picks a free one',
  },
  ...adminSettings(8094),
  PLATFORM_ROLES: {
    type: 'string',
    default: 'api,websocket,telemetry',
    pattern: '^(api|websocket|telemetry)(,(api|websocket|telemetry))*$',
    description:
      'roles of this process, so that each scales separately: the HTTP API, the websocket, the telemetry consumer',
  },
  PUBLIC_BASE_URL: {
    type: 'string',
    default: 'http://127.0.0.1:8080',
    pattern: '^https?://[^\\s]+[^/\\s]$',
    description: 'base URL under which users and partners reach the platform, for links in messages and responses',
  },
  WS_URL: {
    type: 'string',
    optional: true,
    pattern: '^wss?://[^\\s]+$',
    description: 'URL of the websocket for clients; default: /ws of PUBLIC_BASE_URL',
  },
  VIDEO_BASE_URL: {
    type: 'string',
    default: 'http://127.0.0.1:8081',
    pattern: '^https?://[^\\s]+[^/\\s]$',
    description: 'base URL under which players reach the video service, for the URLs of streams',
  },
  DASHBOARD_DIR: {
    type: 'string',
    optional: true,
    description: 'folder of the built dashboard, which is served at the base URL; absent: no dashboard',
  },
  DEMO_MENU: {
    type: 'boolean',
    default: false,
    description: 'shows the demo menu of `npm start` in the dashboard, which controls the simulated vehicles',
  },
  PRODUCT_NAME: {
    type: 'string',
    default: 'Fleet platform',
    minLength: 1,
    maxLength: 60,
    description: 'name of the product in the dashboard',
  },
  TELEMETRY_PARTITIONS: {
    type: 'integer',
    minimum: 1,
    maximum: 1024,
    default: 1,
    description: 'number of telemetry subjects, the same in all services',
  },
  ...streamEnv,
  LOCATION_RETENTION_DAYS: {
    formerName: 'LOCATIONS_KEPT_DAYS',
    type: 'integer',
    minimum: 1,
    maximum: 36_500,
    default: 730,
    description:
      'days for which one position in 5 minutes is stored, after the days for which an account stores all positions',
  },
  TOLL_GATES_FILE: {
    type: 'string',
    optional: true,
    description: 'CSV or JSON file of toll gates, loaded at start if it has changed; without it there are none',
  },
  ...bootstrapSettings,
  ...accessSettings,
  ...rateLimitSettings,
  ...providerSettings,
  ...webhookSettings,
  ...commandSettings,
  ...billingSettings,
  ...messagingSettings,
  ...documentSettings,
  ...broadcastSettings,
  ...deliverySettings,
  ...mailSettings,
  ...partnerSettings,
  ...mediaSettings,
  ...streamTokenSettings,
  ...mapSettings,
  ...thresholdSettings,
  ...ruleSettings,
  ...attachmentSettings,
});

export type Config = ConfigOf<typeof schema>;

export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const config = readEnv(schema, env);
  checkAccessSettings(config);
  checkMapSettings(config);
  checkDeliverySettings(config);
  if (readSmtpServer(config) !== null && config.MAIL_URL !== undefined)
    throw new ConfigError('Set MAIL_URL or a mail server (SMTP_URL, SMTP_HOST), not both.');
  checkMediaSettings(config);
  checkStreamTokenSettings(config);
  return config;
}

/** Roles of the service that a process may have. */
export type Role = 'api' | 'websocket' | 'telemetry';

/** Parses PLATFORM_ROLES. */
export const parseRoles = (setting: string): ReadonlySet<Role> => new Set(setting.split(',') as Role[]);
