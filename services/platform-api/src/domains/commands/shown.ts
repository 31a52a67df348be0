import { shownRecord, shownTime } from '../../schemas.ts';
import type { Command, CommandShown } from './schema.ts';

const parsed = (json: string): Record<string, unknown> => JSON.parse(json) as Record<string, unknown>;

export const shownCommand = (command: Command): CommandShown => ({
  ...shownRecord(command),
  command_id: command.commandId,
  vehicle_id: command.vehicleId,
  imei: command.shownImei,
  type: command.type,
  params: parsed(command.params),
  priority: command.priority,
  status: command.status,
  attempts: command.attempts,
  max_attempts: command.maxAttempts,
  message_id: command.messageId,
  serial: command.serial,
  result: command.result,
  error: command.error,
  error_message: command.errorMessage,
  answer: command.answer === null ? null : parsed(command.answer),
  created_by: command.createdBy,
  sent_at: shownTime(command.sentAt),
  completed_at: shownTime(command.completedAt),
  expires_at: command.expiresAt.toISOString(),
});
