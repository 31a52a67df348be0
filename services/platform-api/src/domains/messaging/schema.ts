import { paginationQuery, sortParameter } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { stringEnum } from '../../platform/fields.ts';
import { nullable, recordId, recordProperties, time } from '../../platform/schemas.ts';
import { timeParameter } from '../../platform/timestamps.ts';
import type { AccountRecord } from '../../store/account-repository.ts';

const smsProviders = ['twilio', 'plivo', 'vonage', 'generic'] as const;
export type SmsProviderName = (typeof smsProviders)[number];
export const isSmsProvider = (name: string): name is SmsProviderName =>
  (smsProviders as readonly string[]).includes(name);
const voiceProviders = ['twilio', 'plivo', 'vonage', 'vapi', 'generic'] as const;
/** Provider of messages and calls (docs/reference/documents-and-messages.md). */
export type Provider = (typeof voiceProviders)[number];

const chatChannels = ['sms', 'voice'] as const;
export const chatStatuses = ['received', 'queued', 'sent', 'delivered', 'failed'] as const;

/** Text message, or speech in a call. */
export interface ChatMessage extends AccountRecord {
  /** Channel, provider and id of the message; unique within an account. */
  readonly messageKey: string;
  readonly channel: (typeof chatChannels)[number];
  readonly provider: Provider;
  readonly providerMessageId: string;
  readonly direction: 'in' | 'out';
  readonly from: string;
  readonly to: string;
  readonly text: string;
  readonly status: (typeof chatStatuses)[number];
  readonly userId: number | null;
  readonly vehicleId: number | null;
  readonly receivedAt: Date;
}

/** Intents of the user in a call. */
const intents = ['vehicle_location', 'vehicle_status', 'last_alert', 'share_location'] as const;
export type Intent = (typeof intents)[number];

export const smsQuery = Type.Object({
  provider: Type.Optional(stringEnum(smsProviders, { description: 'Default: generic.' })),
  bodySHA256: Type.Optional(Type.String({ maxLength: 64, description: 'Set by Twilio for JSON bodies.' })),
});
export const voiceQuery = Type.Object({
  ...smsQuery.properties,
  provider: Type.Optional(stringEnum(voiceProviders, { description: 'Default: generic.' })),
});

/**
 * Each provider has its own format. `generic` SMS is `{ id, from, to, text, timestamp }`, voice `{ call_id, from,
 * transcript }`.
 */
export const anyBody = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  properties: {},
  additionalProperties: true,
});

export const smsResponse = Type.Object({ ok: Type.Boolean() }, { title: 'MessageTaken' });
const voiceReply = Type.Object(
  {
    reply: Type.String(),
    end: Type.Boolean(),
    data: nullable(Type.Object({}, { additionalProperties: true })),
  },
  { title: 'VoiceReply' },
);
const nccoAction = Type.Object(
  { action: stringEnum(['talk', 'input']) },
  { title: 'NccoAction', additionalProperties: true, description: 'Action of a Call Control Object for Vonage.' },
);
export const voiceResponse = Type.Union([voiceReply, Type.Array(nccoAction)]);

export const listChatQuery = Type.Object({
  ...paginationQuery,
  sort: sortParameter(['id', 'received_at']),
  channel: Type.Optional(stringEnum(chatChannels)),
  vehicle_id: Type.Optional(recordId),
  from: Type.Optional(timeParameter),
  to: Type.Optional(timeParameter),
});
export type ListChatQuery = Static<typeof listChatQuery>;

export const chatMessageResponse = Type.Object(
  {
    ...recordProperties,
    channel: stringEnum(chatChannels),
    provider: Type.String(),
    provider_message_id: Type.String(),
    direction: stringEnum(['in', 'out']),
    from: Type.String(),
    to: Type.String(),
    text: Type.String(),
    status: stringEnum(chatStatuses),
    user_id: nullable(recordId),
    vehicle_id: nullable(recordId),
    received_at: time,
  },
  { title: 'ChatMessage' },
);
export type ChatMessageResponse = Static<typeof chatMessageResponse>;
