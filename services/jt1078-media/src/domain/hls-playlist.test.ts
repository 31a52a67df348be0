import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { HlsPlaylist, type HlsPlaylistOptions } from './hls-playlist.ts';

const options: HlsPlaylistOptions = {
  minSegmentMs: 1_000,
  maxSegmentMs: 4_000,
  windowSegments: 3,
  maxBytes: 1_000_000,
  partMs: 500,
  firstNumber: 0,
};
const init = { data: Buffer.from('init'), codecs: 'avc1.42001e', width: 320, height: 240 };
const fragment = (isIndependent: boolean, durationMs = 500, bytes = 10) => ({
  data: [Buffer.alloc(bytes, 1)],
  durationMs,
  isIndependent,
});

function createPlaylist(overrides: Partial<HlsPlaylistOptions> = {}): HlsPlaylist {
  const playlist = new HlsPlaylist({ ...options, ...overrides });
  playlist.addInit(init);
  return playlist;
}

/** Adds groups of pictures of a second: a key frame and its successor. */
function addSeconds(playlist: HlsPlaylist, count: number): void {
  for (let second = 0; second < count; second += 1) {
    playlist.addFragment(fragment(true));
    playlist.addFragment(fragment(false));
  }
}

const getFiles = (text: string): string[] => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

describe('HlsPlaylist', () => {
  it('continues that of another pod after a discontinuity, with rising numbers', () => {
    const former = createPlaylist({ firstNumber: 100 });
    addSeconds(former, 2);
    former.addInit(init);
    addSeconds(former, 1);
    former.move();
    expect(former.render()).not.toContain('ENDLIST');
    const continuation = former.continuation ?? undefined;
    expect(continuation).toEqual({ sequence: 103, initIndex: 102, discontinuity: 2 });
    const playlist = createPlaylist({ firstNumber: 500, continuation });
    addSeconds(playlist, 2);
    expect(playlist.render()).toContain(`#EXT-X-MEDIA-SEQUENCE:103
#EXT-X-DISCONTINUITY-SEQUENCE:1
#EXT-X-DISCONTINUITY
#EXT-X-MAP:URI="init-102.mp4"
`);
    addSeconds(playlist, 4);
    expect(playlist.render()).toMatch(/MEDIA-SEQUENCE:105\n#EXT-X-DISCONTINUITY-SEQUENCE:2\n#EXT-X-MAP/);
  });

  it('continues at the same place if a pod moves it again before its first segment', () => {
    const continuation = { sequence: 7, initIndex: 3, discontinuity: 1 };
    expect(new HlsPlaylist({ ...options, continuation }).continuation).toEqual(continuation);
    expect(new HlsPlaylist(options).continuation).toBeNull();
  });

  it('begins a segment at each key frame once the open one is long enough, and lists its parts', () => {
    const playlist = createPlaylist();
    addSeconds(playlist, 2);
    expect(playlist.render()).toBe(`#EXTM3U
#EXT-X-VERSION:9
#EXT-X-TARGETDURATION:4
#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.50000
#EXT-X-PART-INF:PART-TARGET=0.50000
#EXT-X-MEDIA-SEQUENCE:0
#EXT-X-DISCONTINUITY-SEQUENCE:0
#EXT-X-MAP:URI="init-0.mp4"
#EXT-X-PART:DURATION=0.50000,URI="part-0.0.m4s",INDEPENDENT=YES
#EXT-X-PART:DURATION=0.50000,URI="part-0.1.m4s"
#EXTINF:1.00000,
segment-0.m4s
#EXT-X-PART:DURATION=0.50000,URI="part-1.0.m4s",INDEPENDENT=YES
#EXT-X-PART:DURATION=0.50000,URI="part-1.1.m4s"
#EXT-X-PRELOAD-HINT:TYPE=PART,URI="part-1.2.m4s"
`);
  });

  it('ends a segment without a key frame before it exceeds the maximum', () => {
    const playlist = createPlaylist();
    playlist.addFragment(fragment(true));
    for (let index = 0; index < 20; index += 1) playlist.addFragment(fragment(false));
    const durations = [...playlist.render().matchAll(/#EXTINF:([\d.]+)/g)].map(([, seconds]) => Number(seconds));
    expect(durations.length).toBeGreaterThan(1);
    expect(Math.max(...durations)).toBeLessThanOrEqual(4);
  });

  it('lists a window of segments, and keeps those that have just left it', () => {
    const playlist = createPlaylist();
    addSeconds(playlist, 10);
    expect(getFiles(playlist.render())).toEqual(['segment-6.m4s', 'segment-7.m4s', 'segment-8.m4s']);
    expect(playlist.render()).toContain('#EXT-X-MEDIA-SEQUENCE:6\n');
    expect(playlist.read('segment-5.m4s')).not.toBeNull();
    expect(playlist.read('segment-0.m4s')).toBeNull();
  });

  it('begins another segment for what follows a completed one', () => {
    const playlist = createPlaylist();
    addSeconds(playlist, 1);
    playlist.completeSegment();
    playlist.addFragment(fragment(false));
    playlist.end();
    expect(getFiles(playlist.render())).toEqual(['segment-0.m4s', 'segment-1.m4s']);
    expect(playlist.render()).toMatch(/EXTINF:0.50000,\nsegment-1.m4s\n#EXT-X-ENDLIST\n$/);
  });

  it('deletes old segments above the limit of bytes', () => {
    const playlist = createPlaylist({ maxBytes: 2_000 });
    for (let second = 0; second < 10; second += 1) playlist.addFragment(fragment(true, 1_000, 800));
    expect(playlist.bytes).toBeLessThanOrEqual(2_800);
    expect(getFiles(playlist.render()).length).toBeGreaterThan(0);
  });

  it('marks a change of the format as a discontinuity with its own initialization segment', () => {
    const playlist = createPlaylist();
    addSeconds(playlist, 1);
    playlist.addInit({ ...init, data: Buffer.from('other') });
    addSeconds(playlist, 1);
    expect(playlist.render()).toMatch(/segment-0\.m4s\n#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI="init-1\.mp4"\n/);
    expect(playlist.read('init-0.mp4')?.toString()).toBe('init');
    expect(playlist.read('init-1.mp4')?.toString()).toBe('other');
    addSeconds(playlist, 10);
    expect(playlist.render()).toContain('#EXT-X-DISCONTINUITY-SEQUENCE:1\n');
    expect(playlist.read('init-0.mp4')).toBeNull();
  });

  it('resolves a wait for a part as soon as the part exists', async () => {
    const playlist = createPlaylist();
    const { signal } = new AbortController();
    playlist.addFragment(fragment(true));
    const position = { sequence: 0, part: 1 };
    expect(playlist.has(position)).toBe(false);
    const waiting = playlist.waitFor(() => playlist.has(position), 10_000, signal);
    playlist.addFragment(fragment(false));
    expect(await waiting).toBe(true);
    expect(playlist.isTooFarAhead({ sequence: 1, part: 0 })).toBe(false);
    expect(playlist.isTooFarAhead({ sequence: 3, part: 0 })).toBe(true);
  });

  it('resolves a wait with false when the client leaves', async () => {
    const playlist = createPlaylist();
    const client = new AbortController();
    const waiting = playlist.waitFor(() => playlist.isPlayable, 10_000, client.signal);
    client.abort();
    expect(await waiting).toBe(false);
  });

  it('completes the last segment at the end of the stream', () => {
    const playlist = createPlaylist();
    playlist.addFragment(fragment(true));
    playlist.end();
    expect(playlist.render()).toMatch(/#EXTINF:0\.50000,\nsegment-0\.m4s\n#EXT-X-ENDLIST\n$/);
  });

  it('never lists a file that cannot be read, and numbers segments without gaps', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ isIndependent: fc.boolean(), durationMs: fc.integer({ min: 40, max: 700 }) }), {
          maxLength: 80,
        }),
        (fragments) => {
          const playlist = createPlaylist();
          for (const { isIndependent, durationMs } of fragments)
            playlist.addFragment(fragment(isIndependent, durationMs));
          const text = playlist.render();
          const listed = [...text.matchAll(/(?:^|URI=")((?:part|segment|init)-[\d.]+\.(?:m4s|mp4))/gm)]
            .map(([, file]) => file ?? '')
            .filter((file) => !text.includes(`PRELOAD-HINT:TYPE=PART,URI="${file}"`));
          expect(listed.filter((file) => playlist.read(file) === null)).toEqual([]);
          const sequences = getFiles(text).map((file) => Number.parseInt(file.slice('segment-'.length), 10));
          const first = Number(/MEDIA-SEQUENCE:(\d+)/.exec(text)?.[1]);
          expect(sequences).toEqual(sequences.map((_, index) => first + index));
        },
      ),
    );
  });
});
