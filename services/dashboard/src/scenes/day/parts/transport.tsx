import { ActionIcon, Group, SegmentedControl } from '@mantine/core';
import {
  IconPlayerPauseFilled,
  IconPlayerPlayFilled,
  IconPlayerSkipBackFilled,
  IconPlayerSkipForwardFilled,
  IconRewindBackward10,
  IconRewindForward10,
} from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { type Playhead, type Rate, rates, usePlayhead } from '../../../common/timeline/playhead.ts';

interface TransportProps {
  readonly playhead: Playhead;
  /** Times to which the outer buttons jump, sorted. */
  readonly jumps: readonly number[];
  /** The clock at the playhead. */
  readonly children: ReactNode;
}

/** Shows the buttons of the replay: play, ten seconds, previous and next event or trip, speed. */
export function Transport({ playhead, jumps, children }: TransportProps) {
  const { t } = useTranslation('day');
  const { isPlaying, rate, timeMs } = usePlayhead(playhead);
  const before = jumps.findLast((jump) => jump < timeMs - 1_000);
  const after = jumps.find((jump) => jump > timeMs);
  const button = (label: string, icon: ReactNode, seekMs: number | undefined): ReactNode => (
    <ActionIcon
      variant="default"
      size={32}
      aria-label={label}
      disabled={seekMs === undefined}
      onClick={() => seekMs !== undefined && playhead.seek(seekMs)}
    >
      {icon}
    </ActionIcon>
  );
  return (
    <Group gap={6} className="day-transport">
      {button(t('previous'), <IconPlayerSkipBackFilled size={16} />, before)}
      {button(t('back10'), <IconRewindBackward10 size={18} />, timeMs - 10_000)}
      <ActionIcon
        size={32}
        aria-label={t(isPlaying ? 'pause' : 'play')}
        onClick={() => (isPlaying ? playhead.pause() : playhead.play())}
      >
        {isPlaying ? <IconPlayerPauseFilled size={18} /> : <IconPlayerPlayFilled size={18} />}
      </ActionIcon>
      {button(t('forward10'), <IconRewindForward10 size={18} />, timeMs + 10_000)}
      {button(t('next'), <IconPlayerSkipForwardFilled size={16} />, after)}
      <SegmentedControl
        size="xs"
        aria-label={t('speed')}
        value={String(rate)}
        data={rates.map((value) => ({ value: String(value), label: `${value}x` }))}
        onChange={(value) => playhead.setRate(Number(value) as Rate)}
      />
      <strong className="day-clock">{children}</strong>
    </Group>
  );
}
