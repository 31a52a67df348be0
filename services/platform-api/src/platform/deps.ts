import type { Bus, DeviceCommandClient } from '@fleet/bus';
import type { Encryption, Logger } from '@fleet/service-kit';
import type { Database, Redis } from '@fleet/storage';
import type { AccessTokens } from '../access/access-tokens.ts';
import type { RateLimits } from '../access/rate-limits.ts';
import type { Config } from '../assembly/config.ts';
import type { Billing } from '../domains/billing/create-billing.ts';
import type { OcrEngine } from '../domains/documents/ocr.ts';
import type { Notifications } from '../domains/notifications/raise.ts';
import type { PartnerChannels } from '../domains/partners/channels.ts';
import type { PartnerTelemetry } from '../domains/partners/telemetry.ts';
import type { SigningKeys } from '../domains/signing-keys/signing-keys.ts';
import type { MailQueue } from '../mail/mail-queue.ts';
import type { MapServices } from '../maps/map-services.ts';
import type { PlatformMessages } from '../notification-delivery/platform-messages.ts';
import type { MessageSender } from '../providers/message-sender.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { Background } from './background.ts';

/** What domains work with: their routes, handlers and sweeps are functions of it, and take the parts they need (`Pick<Deps, 'records'>`). */
export interface Deps {
  readonly config: Config;
  readonly log: Logger;
  readonly bus: Bus;
  /** Asks terminals themselves, for what is no use case of device-api. */
  readonly asker: DeviceCommandClient;
  /** Not waited for: commands fail at once while Redis is away. */
  readonly redis: Redis;
  readonly database: Database;
  readonly records: RecordStore;
  /** Seals secrets that are stored. */
  readonly encryption: Encryption;
  readonly signingKeys: SigningKeys;
  readonly tokens: AccessTokens;
  /** Plans, and the gateway that takes payments. */
  readonly billing: Billing;
  /** Mails and SMS to people; SMS go by SMS_PROVIDER. */
  readonly messages: PlatformMessages;
  /** Mails to users that must not be lost: invitations, links to a new password. */
  readonly mails: MailQueue;
  /** What goes on behind answers. */
  readonly background: Background;
  /** The installation's own sender, whatever SMS_PROVIDER is. */
  readonly ownMessages: MessageSender;
  /** Addresses and roads. */
  readonly maps: MapServices;
  /** Counts what a domain knows the key of; the guard has counted the route's own bucket already (`countedBy`). */
  readonly limits: RateLimits;
  /** Stores what partners send in the telemetry stream. */
  readonly telemetry: PartnerTelemetry;
  /** Commands devices that came in through partners. */
  readonly partnerChannels: PartnerChannels;
  /** Puts what happens to vehicles on record, and tells of it. */
  readonly notifications: Notifications;
  /** Reads text from pictures. */
  readonly ocr: OcrEngine;
  /** Aborted when the service stops and has waited long enough: what is still sent is cut. */
  readonly stopped: AbortSignal;
}
