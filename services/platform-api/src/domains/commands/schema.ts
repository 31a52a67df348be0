import { paginationQuery, sortParameter } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { stringEnum } from '../../platform/fields.ts';
import { nullable, recordId, recordProperties, time } from '../../platform/schemas.ts';
import type { AccountRecord } from '../../store/account-repository.ts';
import { commandTypes, paramSchemas } from './params.ts';
import { criticalCommands } from './rules.ts';

/** Statuses of a command (docs/reference/commands.md). */
const commandStatuses = ['queued', 'sent', 'acknowledged', 'failed', 'expired', 'canceled'] as const;
type CommandStatus = (typeof commandStatuses)[number];

/** Reasons why a command failed. */
const commandErrors = ['unanswered', 'refused', 'unreadable', 'invalid', 'internal'] as const;
type CommandError = (typeof commandErrors)[number];

/** An attempt in flight, or one that was in flight when its replica died. */
export interface Attempt {
  /**
   * `Command-Id` under which the terminal's gateway knows the attempt. A retry after a restart joins the first request.
   */
  readonly name: string;
  readonly startedAt: Date;
}

/** A command of the queue. It belongs to the vehicle's account, even if another account's user created it. */
export interface Command extends AccountRecord {
  readonly commandId: string;
  readonly vehicleId: number;
  /** Canonical terminal number. */
  readonly imei: string;
  /** The terminal number as recorded in the vehicle. */
  readonly shownImei: string;
  readonly type: (typeof commandTypes)[number];
  /** JSON, including the defaults. */
  readonly params: string;
  readonly priority: number;
  readonly status: CommandStatus;
  /** Number of times that the command was sent. */
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly messageId: string | null;
  readonly serial: number | null;
  readonly result: string | null;
  readonly error: CommandError | null;
  /** Details of the error, as a sentence. */
  readonly errorMessage: string | null;
  /** JSON: the terminal's response, without its result. */
  readonly answer: string | null;
  readonly createdBy: number;
  /** The partner that sent the command; absent for a command of a user. */
  readonly partnerId?: number;
  readonly sentAt: Date | null;
  readonly completedAt: Date | null;
  readonly expiresAt: Date;
  /** The attempt in flight; null between attempts. */
  readonly flight: Attempt | null;
  /** Earliest time of the next attempt. */
  readonly notBefore: Date | null;
  /** True if the command has failed or expired and its notification is not raised yet. */
  readonly isUntold?: boolean;
}

const daySeconds = 86_400;

export const createCommandBody = Type.Object({
  type: stringEnum(commandTypes),
  params: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      additionalProperties: true,
      description:
        "The Device API's fields. control: command, parameters. text: text, text_type, options. live_start: channel, data_type, stream_type, host, tcp_port, udp_port. live_stop: channel, close_type. capture: channel, count, interval_seconds, film, resolution, quality, brightness, contrast, saturation, chroma. upload and resource_list: channel, start_time, end_time, resource_type, stream_type, memory_type, alarm; upload also host, port, wifi, lan, mobile_network. set_parameters: parameters (id and value or value_hex). query_parameters: ids. vehicle_control: doors (lock, unlock). raw: message_id, body_hex. wakeup, query_attributes, locate: none.",
      examples: [{ text: 'Please call the dispatcher.' }],
      'x-params-by-type': paramSchemas,
      'x-critical-commands': criticalCommands,
    }),
  ),
  ttl_seconds: Type.Optional(
    Type.Integer({ minimum: 60, maximum: 30 * daySeconds, description: `Default: ${daySeconds}.` }),
  ),
  priority: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 9,
      description: 'Commands with a higher priority are sent first. Default: 5.',
    }),
  ),
});
export type CreateCommandBody = Static<typeof createCommandBody>;
export const defaultTtlSeconds = daySeconds;
export const defaultPriority = 5;

export const commandParams = Type.Object({
  vehicleId: recordId,
  commandId: Type.String({ pattern: '^[0-9a-f]{24}$' }),
});

export const listCommandsQuery = Type.Object({
  ...paginationQuery,
  sort: sortParameter(['id', 'created_at', 'expires_at', 'priority']),
  status: Type.Optional(stringEnum(commandStatuses)),
  type: Type.Optional(stringEnum(commandTypes)),
});
export type ListCommandsQuery = Static<typeof listCommandsQuery>;

export const commandResponse = Type.Object(
  {
    ...recordProperties,
    command_id: Type.String({ pattern: '^[0-9a-f]{24}$' }),
    vehicle_id: recordId,
    imei: Type.String(),
    type: stringEnum(commandTypes),
    params: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }),
    priority: Type.Integer({ minimum: 0, maximum: 9 }),
    status: stringEnum(commandStatuses, {
      description:
        "sent: the terminal's socket has accepted the bytes. acknowledged: the terminal has responded with success.",
    }),
    attempts: Type.Integer({ minimum: 0, description: 'Number of times that the command was sent.' }),
    max_attempts: Type.Integer({ minimum: 1 }),
    message_id: nullable(Type.String({ examples: ['0x8300'] })),
    serial: nullable(Type.Integer({ minimum: 0, maximum: 65_535, description: 'Header serial of the frame.' })),
    result: nullable(Type.String({ examples: ['success'], description: 'Result that the terminal reported.' })),
    error: nullable(stringEnum(commandErrors)),
    error_message: nullable(Type.String()),
    answer: nullable(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        additionalProperties: true,
        description: "The terminal's response without its result: recordings, parameters, attributes, location.",
      }),
    ),
    created_by: recordId,
    created_by_name: Type.Optional(
      nullable(Type.String({ description: 'Null for deleted users. Absent in websocket events.' })),
    ),
    sent_at: nullable(time),
    completed_at: nullable(time),
    expires_at: time,
  },
  { title: 'Command' },
);
export type CommandResponse = Static<typeof commandResponse>;
