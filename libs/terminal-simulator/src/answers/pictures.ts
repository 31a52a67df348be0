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
import { snapshot } from '../media/snapshot.ts';
import { accept, type Handlers, handle, messageOf, type TerminalContext } from './answering.ts';

/** 0x8801 result 2: no camera on the channel. */
const CHANNEL_NOT_SUPPORTED = 2;
const MOST_PICTURES = 10;

/** Whole 0x0801 of a picture that the channel's camera takes now. */
async function picture(terminal: TerminalContext, channel: number, multimediaId: number, eventCode: number) {
  const data = await snapshot(await terminal.cameras.clip(channel, 'sub'));
  const location = terminal.vehicle.location();
  const { edition } = terminal.options;
  const parts = edition === '2011' ? { totalParts: 1, partId: 1 } : { location };
  const body = { multimediaId, type: 0, format: 0, eventCode, channel, ...parts, data };
  return messageOf(multimediaData, body, edition);
}

/** Takes pictures and sends them, as 0x8801 or an alarm asks. */
export async function sendPictures(
  terminal: TerminalContext,
  channel: number,
  ids: readonly number[],
  eventCode: number,
): Promise<void> {
  for (const id of ids) terminal.send(await picture(terminal, channel, id, eventCode));
}

const isFilm = (command: number): boolean => command === 0xffff;

function shootAnswer(serial: number, result: number, ids: number[] | undefined, edition: Edition) {
  const body = { replySerial: serial, result, ...(ids === undefined ? {} : { multimediaIds: ids }) };
  return messageOf(cameraShootResponse, body, edition);
}

/** Pictures and retransmission of parts. */
export const pictureHandlers: Handlers = {
  ...handle(cameraShoot, (body, message, terminal) => {
    const { channel, command } = body;
    const { edition } = terminal.options;
    if (!terminal.cameras.has(channel)) {
      return { answers: [shootAnswer(message.serial, CHANNEL_NOT_SUPPORTED, undefined, edition)] };
    }
    if (command === 0 || isFilm(command)) return accept(message);
    const count = Math.min(command, MOST_PICTURES);
    const ids = Array.from({ length: count }, () => terminal.nextMultimediaId());
    const answers = edition === '2011' ? accept(message).answers : [shootAnswer(message.serial, 0, ids, edition)];
    if (body.saveFlag === 1) return { answers };
    return { answers, after: () => sendPictures(terminal, channel, ids, 0) };
  }),
  ...handle(multimediaSearch, (_body, message, terminal) => {
    const body = { replySerial: message.serial, items: [] };
    return { answers: [messageOf(multimediaSearchResponse, body, terminal.options.edition)] };
  }),
  ...handle(multimediaUploadRequest, (_body, message) => accept(message)),
  ...handle(singleMultimediaUpload, (body, message, terminal) =>
    accept(message, () => sendPictures(terminal, 1, [body.multimediaId], 0)),
  ),
  ...handle(multimediaUploadResponse, (body, _message, terminal) => {
    const missing = terminal.sentParts({ messageId: multimediaData.id }, body.retransmitIds);
    return { answers: [], after: () => terminal.sendAgain(missing) };
  }),
  ...handle(platformRetransmitRequest, (body, _message, terminal) => {
    const missing = terminal.sentParts({ serial: body.originalSerial }, body.packageIds);
    return { answers: [], after: () => terminal.sendAgain(missing) };
  }),
};
