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

describe('decideTracks', () => {
  it.each<[string, Partial<TrackFacts>, ReturnType<typeof decideTracks>]>([
    ['no key frame yet', { sinceKeyFrameMs: null }, 'wait'],
    ['a key frame while audio may still arrive', { sinceKeyFrameMs: 999 }, 'wait'],
    ['no audio within a second of the key frame', { sinceKeyFrameMs: 1_000 }, pictures],
    ['audio whose format is being determined', { sinceKeyFrameMs: 1_000, isAudioAwaited: true }, 'wait'],
    ['audio and a key frame', { isAudioPlayable: true }, both],
    ['audio that cannot be played', { isAudioPlayable: false }, pictures],
    ['a viewer without audio', { audioMode: 'none' }, pictures],
    ['a camera with only video requested', { requestedMedia: 'video' }, pictures],
    [
      'a camera with only audio requested',
      { requestedMedia: 'audio', isAudioPlayable: true, sinceKeyFrameMs: null },
      sound,
    ],
    ['requested audio that never arrives', { requestedMedia: 'audio', waitedMs: 15_000 }, 'none'],
    ['requested audio that cannot be played', { requestedMedia: 'audio', isAudioPlayable: false }, 'none'],
    ['no key frame until the timeout', { sinceKeyFrameMs: null, waitedMs: 15_000 }, 'none'],
    [
      'audio but no key frame until the timeout',
      { sinceKeyFrameMs: null, waitedMs: 15_000, isAudioPlayable: true },
      sound,
    ],
  ])('returns the tracks for %s', (_case, change, expected) => {
    expect(decideTracks({ ...facts, ...change })).toEqual(expected);
  });
});

describe('getRequestedMedia', () => {
  it('decodes the different data types of 0x9101 and 0x9201', () => {
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
