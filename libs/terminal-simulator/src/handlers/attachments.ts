import { alarmAttachmentUpload } from '@fleet/jt808';
import { accept, defineHandler, type Handlers, refuse } from './handler-context.ts';

/** Handlers for attachments of active-safety alarms (T/JSATL 12-2017 chapter 4.5). */
export const attachmentHandlers: Handlers = defineHandler(alarmAttachmentUpload, (body, message, terminal) => {
  const send = terminal.attachments.handleRequest(body);
  return send === null ? refuse(message) : accept(message, send);
});
