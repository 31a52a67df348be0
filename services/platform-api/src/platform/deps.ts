import type { Bus, DeviceCommandClient } from '@fleet/bus';
import type { Encryption, Logger } from '@fleet/service-kit';
import type { StreamTokens } from '@fleet/service-kit/stream-tokens';
import type { Database, Redis } from '@fleet/storage';
import type { AccessTokens } from '../access/access-tokens.ts';
import type { RateLimits } from '../access/rate-limits.ts';
import type { Config } from '../assembly/config.ts';
import type { Billing } from '../domains/billing/create-billing.ts';
import type { OcrEngine } from '../domains/documents/ocr.ts';
import type { NotificationPublisher } from '../domains/notifications/notification-publisher.ts';
import type { PartnerChannels } from '../domains/partners/partner-channels.ts';
import type { PartnerTelemetry } from '../domains/partners/telemetry.ts';
import type { SigningKeys } from '../domains/signing-keys/signing-keys.ts';
import type { MailQueue } from '../mail/mail-queue.ts';
import type { MapServices } from '../maps/map-services.ts';
import type { PlatformMessageSender } from '../notification-delivery/platform-message-sender.ts';
import type { MessageSender } from '../providers/message-sender.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { Background } from './background.ts';
import type { VehicleThresholds } from './thresholds.ts';

/**
 * Dependencies of the domains. Their routes, handlers and jobs accept the dependencies that they need (`Pick<Deps,
 * 'records'>`).
 */
export interface Deps {
  readonly config: Config;
  /** Thresholds that decide the state of a vehicle. */
  readonly thresholds: VehicleThresholds;
  readonly log: Logger;
  readonly bus: Bus;
  /** Sends commands to terminals directly, for functions that are no use cases of device-api. */
  readonly commandClient: DeviceCommandClient;
  /** Commands fail immediately while Redis is unavailable. */
  readonly redis: Redis;
  readonly database: Database;
  readonly records: RecordStore;
  /** Encrypts stored secrets. */
  readonly encryption: Encryption;
  readonly signingKeys: SigningKeys;
  readonly tokens: AccessTokens;
  /** Tokens with which players open streams of the video service. */
  readonly streamTokens: StreamTokens;
  /** Plans and the payment gateway. */
  readonly billing: Billing;
  /** Mails and SMS to users; SMS are sent by SMS_PROVIDER. */
  readonly messages: PlatformMessageSender;
  /** Mails to users that must not be lost: invitations and password links. */
  readonly mails: MailQueue;
  /** Work that continues after responses. */
  readonly background: Background;
  /** The installation's own sender, regardless of SMS_PROVIDER. */
  readonly ownMessages: MessageSender;
  /** Addresses and roads. */
  readonly maps: MapServices;
  /** Rate limits that domains count themselves. The guard has already counted the route's own bucket (`countedBy`). */
  readonly limits: RateLimits;
  /** Publishes telemetry of partners in the telemetry stream. */
  readonly telemetry: PartnerTelemetry;
  /** Sends commands to devices of partners. */
  readonly partnerChannels: PartnerChannels;
  /** Stores and publishes notifications. */
  readonly notifications: NotificationPublisher;
  /** Reads text from pictures. */
  readonly ocr: OcrEngine;
  /**
   * Aborted when the service has waited long enough at its stop. Responses that are still being sent are then cut off.
   */
  readonly stopped: AbortSignal;
}
