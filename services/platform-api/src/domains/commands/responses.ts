import { formatTime, toRecordResponse } from '../../platform/schemas.ts';
import type { Command, CommandResponse } from './schema.ts';

const parseJson = (json: string): Record<string, unknown> => JSON.parse(json) as Record<string, unknown>;

/** Converts a command to its representation in the API. */
export const toCommandResponse = (command: Command): CommandResponse => ({
  ...toRecordResponse(command),
  command_id: command.commandId,
  vehicle_id: command.vehicleId,
  imei: command.shownImei,
  type: command.type,
  params: parseJson(command.params),
  priority: command.priority,
  status: command.status,
  attempts: command.attempts,
  max_attempts: command.maxAttempts,
  message_id: command.messageId,
  serial: command.serial,
  result: command.result,
  error: command.error,
  error_message: command.errorMessage,
  answer: command.answer === null ? null : parseJson(command.answer),
  created_by: command.createdBy,
  sent_at: formatTime(command.sentAt),
  completed_at: formatTime(command.completedAt),
  expires_at: command.expiresAt.toISOString(),
});
