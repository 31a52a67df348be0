import { describe, expect, it } from '@jest/globals';
import { decideTracks, getRequestedMedia, type TrackFacts } from './play-options.ts';

const facts: TrackFacts = {
  requestedMedia: 'any',
  audioMode: 'aac',
  sinceKeyFrameMs: 0,
  isAudioPlayable: null,
  isAudioAwaited: false,
  waitedMs: 0,
  firstFrameWaitMs: 15_000,
};
const both = { video: true, audio: true };
const pictures = { video: true, audio: false };
const sound = { video: false, audio: true };

describe('the tracks a viewer is promised', () => {
  it.each<[string, Partial<TrackFacts>, ReturnType<typeof decideTracks>]>([
    ['no key frame yet', { sinceKeyFrameMs: null }, 'wait'],
    ['a key frame, and sound may still come', { sinceKeyFrameMs: 999 }, 'wait'],
    ['no sound within a second of the key frame', { sinceKeyFrameMs: 1_000 }, pictures],
    ['sound whose form is being found out', { sinceKeyFrameMs: 1_000, isAudioAwaited: true }, 'wait'],
    ['sound and a key frame', { isAudioPlayable: true }, both],
    ['sound that cannot be played', { isAudioPlayable: false }, pictures],
    ['no sound wanted by the viewer', { audioMode: 'none' }, pictures],
    ['pictures alone asked of the camera', { requestedMedia: 'video' }, pictures],
    [
      'sound alone asked of the camera',
      { requestedMedia: 'audio', isAudioPlayable: true, sinceKeyFrameMs: null },
      sound,
    ],
    ['sound alone that never comes', { requestedMedia: 'audio', waitedMs: 15_000 }, 'none'],
    ['sound alone that cannot be played', { requestedMedia: 'audio', isAudioPlayable: false }, 'none'],
    ['never a key frame', { sinceKeyFrameMs: null, waitedMs: 15_000 }, 'none'],
    ['never a key frame, but sound', { sinceKeyFrameMs: null, waitedMs: 15_000, isAudioPlayable: true }, sound],
  ])('%s', (_case, change, expected) => {
    expect(decideTracks({ ...facts, ...change })).toEqual(expected);
  });
});

describe('what a camera was asked for', () => {
  it('reads the data type of 0x9101 and that of 0x9201, which differ', () => {
    expect([0, 1, 2, 3, null].map((type) => getRequestedMedia('live', type))).toEqual([
      'any',
      'video',
      'audio',
      'audio',
      'any',
    ]);
    expect([0, 1, 2, 3, null].map((type) => getRequestedMedia('history', type))).toEqual([
      'any',
      'audio',
      'video',
      'any',
      'any',
    ]);
  });
});
