import {
  cameraShoot,
  cameraShootResponse,
  type Edition,
  multimediaData,
  multimediaSearch,
  multimediaSearchResponse,
  multimediaUploadRequest,
  multimediaUploadResponse,
  platformRetransmitRequest,
  singleMultimediaUpload,
} from '@fleet/jt808';
import { takeSnapshot } from '../media/snapshot.ts';
import { accept, createMessage, defineHandler, type HandlerContext, type Handlers } from './handler-context.ts';

/** 0x8801 result 2: no camera on the channel. */
const channelNotSupported = 2;
const maxPictures = 10;
/** More parts than any picture has. */
const maxParts = 1_000;
const dropMs = 1_000;

/** Creates the whole 0x0801 of a picture taken now by the channel's camera. */
async function createPictureMessage(
  terminal: HandlerContext,
  channel: number,
  multimediaId: number,
  eventCode: number,
) {
  const data = await takeSnapshot(await terminal.cameras.clip(channel, 'sub'));
  const location = terminal.vehicle.location();
  const { edition } = terminal.options;
  const parts = edition === '2011' ? { totalParts: 1, partId: 1 } : { location };
  const body = { multimediaId, type: 0, format: 0, eventCode, channel, ...parts, data };
  return createMessage(multimediaData, body, edition);
}

/** Takes pictures and sends them, as requested by 0x8801 or an alarm. */
export async function sendPictures(
  terminal: HandlerContext,
  channel: number,
  ids: readonly number[],
  eventCode: number,
): Promise<void> {
  for (const id of ids) {
    const message = await createPictureMessage(terminal, channel, id, eventCode);
    const { picturePartsBeforeDrop: sentParts } = terminal.options;
    if (sentParts === undefined) {
      terminal.send(message);
      continue;
    }
    terminal.send({ ...message, lostParts: Array.from({ length: maxParts }, (_, index) => sentParts + 1 + index) });
    terminal.dropAndReconnect({ downtimeMs: dropMs });
    return;
  }
}

const isVideoCommand = (command: number): boolean => command === 0xffff;

function createShootResponse(serial: number, result: number, ids: number[] | undefined, edition: Edition) {
  const body = { replySerial: serial, result, ...(ids === undefined ? {} : { multimediaIds: ids }) };
  return createMessage(cameraShootResponse, body, edition);
}

/** Handlers for pictures and the retransmission of parts. */
export const pictureHandlers: Handlers = {
  ...defineHandler(cameraShoot, (body, message, terminal) => {
    const { channel, command } = body;
    const { edition } = terminal.options;
    if (!terminal.cameras.hasChannel(channel)) {
      return { responses: [createShootResponse(message.serial, channelNotSupported, undefined, edition)] };
    }
    if (command === 0 || isVideoCommand(command)) return accept(message);
    const count = Math.min(command, maxPictures);
    const ids = Array.from({ length: count }, () => terminal.nextMultimediaId());
    const { pictureResponse = edition === '2011' ? 'general' : 'list' } = terminal.options;
    const listed = pictureResponse === 'list' ? ids : undefined;
    const responses =
      pictureResponse === 'general'
        ? accept(message).responses
        : [createShootResponse(message.serial, 0, listed, edition)];
    if (body.saveFlag === 1) return { responses };
    return { responses, afterSend: () => sendPictures(terminal, channel, ids, 0) };
  }),
  ...defineHandler(multimediaSearch, (_body, message, terminal) => {
    const body = { replySerial: message.serial, items: [] };
    return { responses: [createMessage(multimediaSearchResponse, body, terminal.options.edition)] };
  }),
  ...defineHandler(multimediaUploadRequest, (_body, message) => accept(message)),
  ...defineHandler(singleMultimediaUpload, (body, message, terminal) =>
    accept(message, () => sendPictures(terminal, 1, [body.multimediaId], 0)),
  ),
  ...defineHandler(multimediaUploadResponse, (body, _message, terminal) => {
    const missing = terminal.findSentParts({ messageId: multimediaData.id }, body.retransmitIds);
    return { responses: [], afterSend: () => terminal.resend(missing) };
  }),
  ...defineHandler(platformRetransmitRequest, (body, _message, terminal) => {
    const missing = terminal.findSentParts({ serial: body.originalSerial }, body.packageIds);
    return { responses: [], afterSend: () => terminal.resend(missing) };
  }),
};
