import { alarmAttachmentUpload } from '@fleet/jt808';
import { accept, type Handlers, handle, refuse } from './answering.ts';

/** Attachments of active-safety alarms (T/JSATL 12-2017 chapter 4.5). */
export const attachmentHandlers: Handlers = handle(alarmAttachmentUpload, (body, message, terminal) => {
  const send = terminal.attachments.take(body);
  return send === null ? refuse(message) : accept(message, send);
});
