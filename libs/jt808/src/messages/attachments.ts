import { bytes, countedList, type Field, fixedText, lookAhead, struct, text8, u8, u16, u32 } from '../fields/index.ts';
import { tagField, tagSizes } from '../fields/tag.ts';
import { defineMessage } from '../message.ts';
import type { Reader } from '../reader.ts';

// Attachments of active-safety alarms (T/JSATL 12-2017 chapter 4.5); frames share their connection with raw data packets.

const file = { name: text8(), size: u32() };
const numberedFile = {
  name: text8(),
  type: u8(), // 0 image, 1 audio, 2 video, 3 text, 4 other
  size: u32(),
};
const alarmNoBytes = 32;
const reservedBytes = 16;

/** 0x9208: the platform requests the attachments of an alarm. */
export const alarmAttachmentUpload = defineMessage({
  id: 0x9208,
  name: 'alarmAttachmentUpload',
  from: 'platform',
  reference: 'T/JSATL 12-2017 table 4-21',
  responseIds: [0x0001],
  body: {
    serverIp: text8(),
    tcpPort: u16(),
    udpPort: u16(),
    tag: tagField((reader) => reader.remaining - alarmNoBytes - reservedBytes), // copied from the alarm
    alarmNo: fixedText(alarmNoBytes),
    reserved: bytes(reservedBytes),
  },
});

/** Returns true if the files after a head of this size fill the body exactly. */
function doFilesFit(reader: Reader, headerBytes: number): boolean {
  const { bytes: body, end } = reader;
  let at = reader.at + headerBytes + alarmNoBytes + 1;
  if (at >= end) return false;
  const count = body[at] as number;
  at += 1;
  let files = 0;
  for (; files < count && at < end; files += 1) at += 1 + (body[at] as number) + 4;
  // With an offset that is wrong by one, names of 48 to 57 characters parse as well, since they begin with a digit.
  // Only the count reveals the error.
  return at === end && files === count;
}

/** Layouts in use: Jiangsu first, then those with long ids. */
const attachmentLayouts = [7, 30].flatMap((idLength) => tagSizes.map((tagSize) => ({ idLength, tagSize })));

const shortId = fixedText(7);
const longId = fixedText(30);

/** Creates the field for the terminal id before the tag; the body determines its width. */
function terminalId(): Field<string> {
  const fieldForLength = (length: unknown): Field<string> => (length === 30 ? longId : shortId);
  return {
    ...shortId,
    type: 'BYTE[7/30]',
    read: (reader, scope) => fieldForLength(scope.body['terminalIdLength']).read(reader, scope),
    write: (writer, value, scope) => fieldForLength(scope.body['terminalIdLength']).write(writer, value, scope),
  };
}

/** Returns the size of the tag: the first known size with which the rest of the body fits. */
function detectTagSize(reader: Reader): number {
  return tagSizes.find((size) => doFilesFit(reader, size)) ?? tagSizes[0];
}

/** 0x1210: list of the attachments. */
export const alarmAttachmentInfo = defineMessage({
  id: 0x1210,
  name: 'alarmAttachmentInfo',
  from: 'terminal',
  reference: 'T/JSATL 12-2017 table 4-23',
  responseIds: [0x8001],
  body: {
    terminalIdLength: lookAhead<number>(
      (reader) =>
        attachmentLayouts.find(({ idLength, tagSize }) => doFilesFit(reader, idLength + tagSize))?.idLength ?? 7,
      [7],
    ),
    terminalId: terminalId(),
    tag: tagField(detectTagSize, [7]),
    alarmNo: fixedText(alarmNoBytes),
    infoType: u8(), // 0 normal, 1 resend
    files: countedList(u8(), struct(file)),
  },
});

/** 0x1211: description of a file before its upload. */
export const attachmentFileInfo = defineMessage({
  id: 0x1211,
  name: 'attachmentFileInfo',
  from: 'terminal',
  reference: 'T/JSATL 12-2017 table 4-25',
  responseIds: [0x8001],
  body: numberedFile,
});

/** 0x1212: a file is complete. */
export const attachmentUploadComplete = defineMessage({
  id: 0x1212,
  name: 'attachmentFileDone',
  from: 'terminal',
  reference: 'T/JSATL 12-2017 table 4-27',
  responseIds: [0x9212],
  body: numberedFile,
});

/** 0x9212: response to 0x1212, either complete or with the ranges to send again. */
export const attachmentUploadCompleteResponse = defineMessage({
  id: 0x9212,
  name: 'attachmentFileDoneResponse',
  from: 'platform',
  reference: 'T/JSATL 12-2017 table 4-28',
  body: {
    name: text8(),
    type: u8(),
    result: u8(), // 0 done, 1 resend
    retransmit: countedList(u8(), struct({ offset: u32(), length: u32() }), { emptyWhen: ['result', -1] }),
  },
});
