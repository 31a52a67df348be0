import { type BodyOf, type Edition, encodeBody, multimediaData } from '@fleet/jt808';
import { describe, expect, it } from '@jest/globals';
import { clipBytes } from '../testing/upload-harness.ts';
import { type Picture, parsePicture } from './picture.ts';

// Fixed bytes: after the bytes of a location, one in some thousands of random contents would start like another file
// type.
const jpeg = Buffer.concat([Buffer.from('ffd8ffe000104a464946', 'hex'), clipBytes(100, 1)]);
const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), clipBytes(100, 2)]);
const receivedAtMs = Date.UTC(2026, 0, 31, 8, 30);

const createLocation = (more: object = {}) => ({
  alarm: 0,
  status: 3,
  latitudeDeg: 22.5,
  longitudeDeg: 114.25,
  altitudeM: 0,
  speedKmh: 0,
  directionDeg: 0,
  time: '2026-01-31T16:29:58',
  ...more,
});

type Body = BodyOf<typeof multimediaData>;
const encodePictureBody = (more: Partial<Body> = {}, edition: Edition = '2013'): Buffer =>
  encodeBody(
    multimediaData,
    {
      multimediaId: 9,
      type: 0,
      format: 0,
      eventCode: 0,
      channel: 3,
      ...(edition === '2011' ? { totalParts: 1, partId: 1 } : {}),
      data: jpeg,
      ...more,
    },
    edition,
  );
const read = (body: Buffer, edition: Edition = '2013', atMs = receivedAtMs): Picture =>
  parsePicture({ imei: '13800000001', edition, body, receivedAtMs: atMs });
function assertPicture(picture: Picture) {
  if (typeof picture === 'string') throw new Error(picture);
  return picture;
}
const readMetadata = (more: Partial<Body> = {}) => assertPicture(read(encodePictureBody(more))).metadata;

describe('parsePicture (0x0801)', () => {
  it("returns the terminal's metadata with the position and time of the location block", () => {
    const { data, metadata } = assertPicture(read(encodePictureBody({ location: createLocation() })));
    expect(data.equals(jpeg)).toBe(true);
    expect(metadata).toEqual({
      imei: '13800000001',
      kind: 'image',
      mimeType: 'image/jpeg',
      channel: 3,
      source: 'capture',
      multimediaId: 9,
      takenAt: '2026-01-31T16:29:58',
      receivedAtMs,
      place: { latitude: 22.5, longitude: 114.25 },
      attachment: null,
      fileIdSeed: '9/3/0/2026-01-31T16:29:58',
    });
  });

  it('returns a position in the south and west', () => {
    const bytes = encodePictureBody({ location: createLocation({ status: 0b1111 }) });
    bytes.writeUInt32BE(0b1111, 12);
    expect(assertPicture(read(bytes)).metadata.place).toEqual({ latitude: -22.5, longitude: -114.25 });
  });

  it.each([
    ['zeros', { latitudeDeg: 0, longitudeDeg: 0 }],
    ['out of range', { latitudeDeg: 100, longitudeDeg: 20 }],
  ])('returns no position without a fix: %s', (_case, more) => {
    expect(readMetadata({ location: createLocation(more) }).place).toBeNull();
  });

  it("returns no time if the terminal's clock is not set", () => {
    expect(readMetadata({ location: createLocation({ time: null }) }).takenAt).toBeNull();
    const bytes = encodePictureBody({ location: createLocation() });
    bytes.fill(0xff, 30, 36);
    expect(assertPicture(read(bytes)).metadata.takenAt).toBeNull();
  });

  it.each([
    [0, 'capture'],
    [1, 'timer'],
    [2, 'alarm'],
    [7, 'alarm'],
    [200, 'alarm'],
  ])('maps event code %d to the source %s', (eventCode, source) => {
    expect(readMetadata({ eventCode }).source).toBe(source);
  });

  it.each([
    ['2011', jpeg, 'image/jpeg'],
    ['2013', jpeg, 'image/jpeg'],
    ['2013', png, 'image/png'],
    ['2019', png, 'image/png'],
  ] as const)('returns the whole picture of a terminal that sends no location (%s)', (edition, data, mimeType) => {
    const picture = assertPicture(read(encodePictureBody({ data }, edition), edition));
    expect(picture.data.equals(data)).toBe(true);
    expect(picture.metadata).toMatchObject({ mimeType, place: null, takenAt: null });
  });

  it('uses a location block whose bytes look like the start of a file', () => {
    const location = createLocation({ alarm: 0x89504e47, status: 0x0d0a1a0a });
    const picture = assertPicture(read(encodePictureBody({ location, data: jpeg })));
    expect(picture.data.equals(jpeg)).toBe(true);
    expect(picture.metadata.takenAt).toBe('2026-01-31T16:29:58');
  });

  it('detects a video declared as a picture', () => {
    const film = Buffer.from('0000002066747970', 'hex');
    expect(readMetadata({ data: film, location: createLocation() })).toMatchObject({
      kind: 'video',
      mimeType: 'video/mp4',
    });
  });

  it('returns unreadable for a truncated message and empty for one without data', () => {
    expect(read(Buffer.alloc(0))).toBe('unreadable');
    expect(read(encodePictureBody().subarray(0, 7))).toBe('unreadable');
    expect(read(encodePictureBody({ data: Buffer.alloc(0) }))).toBe('empty');
    expect(read(encodePictureBody({ data: Buffer.alloc(0), location: createLocation() }))).toBe('empty');
  });

  it('derives one id for retransmissions and different ids for other pictures with equal bytes', () => {
    const seedAt = (atMs: number, more: Partial<Body> = {}) =>
      assertPicture(read(encodePictureBody(more), '2013', atMs)).metadata.fileIdSeed;
    const day = 86_400_000;
    const location = createLocation();
    expect(seedAt(receivedAtMs + day, { location })).toBe(seedAt(receivedAtMs, { location }));
    expect(seedAt(receivedAtMs + 60_000)).toBe(seedAt(receivedAtMs));
    const seeds = [
      seedAt(receivedAtMs, { location }),
      seedAt(receivedAtMs, { location: createLocation({ time: '2026-01-31T16:29:59' }) }),
      seedAt(receivedAtMs, { location, multimediaId: 10 }),
      seedAt(receivedAtMs, { location, channel: 4 }),
      seedAt(receivedAtMs),
      seedAt(receivedAtMs + day),
    ];
    expect(new Set(seeds).size).toBe(seeds.length);
  });
});
