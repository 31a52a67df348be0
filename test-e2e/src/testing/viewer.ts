import { get, type IncomingMessage } from 'node:http';
import { FlvTagType, readVideoTag } from '@fleet/jt1078';
import { type DemuxedTag, FlvDemuxer } from '@fleet/jt1078/testing';

/** A client that plays `stream.flv`: collects the bytes and parses the tags as they arrive. */
export class Viewer {
  readonly #request;
  readonly #chunks: Buffer[] = [];
  readonly tags: DemuxedTag[] = [];
  readonly #demuxer = new FlvDemuxer((tag) => this.tags.push({ ...tag, body: Buffer.from(tag.body) }));
  response: IncomingMessage | undefined;
  /** Set when the response has ended, cleanly or not. */
  ended: 'clean' | 'broken' | undefined;

  constructor(url: string, options: { paused?: boolean } = {}) {
    this.#request = get(url, { agent: false }, (response) => {
      this.response = response;
      response.on('end', () => {
        this.ended = response.complete ? 'clean' : 'broken';
      });
      response.on('error', () => {
        this.ended = 'broken';
      });
      if (options.paused === true) response.pause();
      else this.#read(response);
    });
    this.#request.on('error', () => {
      this.ended = 'broken';
    });
  }

  #read(response: IncomingMessage): void {
    response.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      if (response.statusCode === 200) this.#demuxer.push(chunk);
    });
  }

  /** Starts reading if the viewer was created `paused`. */
  resume(): void {
    if (this.response === undefined) return;
    this.#read(this.response);
    this.response.resume();
  }

  get status(): number | undefined {
    return this.response?.statusCode;
  }

  /** All bytes read so far. */
  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  get header(): { video: boolean; audio: boolean } | null {
    return this.#demuxer.header;
  }

  /** Video tags that contain a picture, not a sequence header. */
  get pictures(): (DemuxedTag & { isKeyFrame: boolean })[] {
    return this.tags.flatMap((tag) => {
      if (tag.type !== FlvTagType.VIDEO) return [];
      const video = readVideoTag(tag.body);
      return video === null || video.isSequenceHeader ? [] : [{ ...tag, isKeyFrame: video.isKeyFrame }];
    });
  }

  get sounds(): DemuxedTag[] {
    return this.tags.filter((tag) => tag.type === FlvTagType.AUDIO);
  }

  leave(): void {
    this.#request.destroy();
  }
}
