import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { NamedGroup } from '../../common/fleet/folder-tree.ts';
import type { Dragged } from './drag.ts';
import { moveGroup, moveVehicles, revertSteps, type Step } from './model.ts';
import { useSteps } from './queries.ts';

/** The last move, which can be reverted. */
interface Done {
  readonly text: string;
  readonly steps: readonly Step[];
}

export type Moves = ReturnType<typeof useMoves>;

/** Moves vehicles and groups, and keeps the last move so that it can be reverted. */
export function useMoves(groups: readonly NamedGroup[]) {
  const { t } = useTranslation('groups');
  const run = useSteps();
  const [done, setDone] = useState<Done | null>(null);
  const nameOf = (id: number | null): string => groups.find((group) => group.id === id)?.name ?? t('ungrouped');
  const start = (steps: readonly Step[], text: string, onDone?: () => void): void => {
    if (steps.length === 0) return;
    setDone(null);
    run.mutate(steps, {
      onSuccess: () => {
        setDone({ text, steps });
        onDone?.();
      },
    });
  };
  const moveTo = (ids: readonly number[], fromId: number | null, toId: number | null, onDone?: () => void): void =>
    start(moveVehicles(groups, ids, { fromId, toId }), t('moved', { count: ids.length, name: nameOf(toId) }), onDone);
  return {
    run,
    done,
    moveTo,
    /** Adds vehicles to a group; they stay in their other groups. */
    addTo: (ids: readonly number[], toId: number, onDone?: () => void): void =>
      start(
        moveVehicles(groups, ids, { fromId: null, toId }),
        t('added', { count: ids.length, name: nameOf(toId) }),
        onDone,
      ),
    /** Returns what happens when something is dropped on a group while the vehicles of another one are visible. */
    drop:
      (fromId: number | null) =>
      (dragged: Dragged, toId: number | null): void => {
        if (dragged.kind === 'vehicles') moveTo(dragged.ids, fromId, toId);
        else
          start(
            moveGroup(groups, dragged.id, toId),
            t(toId === null ? 'groupMovedTop' : 'groupMoved', { group: nameOf(dragged.id), name: nameOf(toId) }),
          );
      },
    undo: (): void => {
      if (done !== null) start(revertSteps(done.steps), t('undone'));
    },
  };
}
