import { BodyError, messageById, ReplyResult } from '@fleet/jt808';
import type { PlatformMessage } from '../frame-log.ts';
import { attachmentHandlers } from './attachments.ts';
import { driverHandlers } from './driver.ts';
import { type HandlerContext, type HandlerResult, type Handlers, refuse } from './handler-context.ts';
import { pictureHandlers } from './pictures.ts';
import { settingsHandlers } from './settings.ts';
import { videoHandlers } from './video.ts';

const allHandlers: Handlers = {
  ...settingsHandlers,
  ...driverHandlers,
  ...pictureHandlers,
  ...videoHandlers,
  ...attachmentHandlers,
};

/**
 * Handles a message as a conforming terminal: result 3 for a message that its edition lacks, result 2 for an unreadable
 * body.
 */
export function handleMessage(message: PlatformMessage, terminal: HandlerContext): HandlerResult {
  const handler = allHandlers[message.messageId];
  const editions = messageById(message.messageId, 'platform')?.editions;
  const isOfEdition = editions === undefined || editions.includes(terminal.options.edition);
  if (handler === undefined || !isOfEdition) return refuse(message, ReplyResult.unsupported);
  try {
    return handler(message, terminal);
  } catch (error) {
    if (error instanceof BodyError) return refuse(message, ReplyResult.incorrect);
    throw error;
  }
}
