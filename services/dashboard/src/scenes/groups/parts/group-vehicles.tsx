import { Button, Checkbox, Group, NativeSelect, TextInput } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { NamedGroup } from '../../../common/fleet/folder-tree.ts';
import type { Vehicle } from '../../../common/fleet/vehicle.ts';
import { Empty } from '../../../common/ui/states.tsx';
import { dragProps } from '../drag.ts';
import type { Moves } from '../use-moves.ts';
import { AddVehicles } from './add-vehicles.tsx';

const rowHeightPx = 44;

interface GroupVehiclesProps {
  /** Null for the vehicles in no group. */
  readonly groupId: number | null;
  readonly vehicles: readonly Vehicle[];
  /** All vehicles that the user can see. */
  readonly all: readonly Vehicle[];
  readonly groups: readonly NamedGroup[];
  readonly moves: Moves;
}

/** Lists the vehicles of a group. Chosen ones are moved by a button, or by dragging one of them onto a group. */
export function GroupVehicles({ groupId, vehicles, all, groups, moves }: GroupVehiclesProps) {
  const { t } = useTranslation('groups');
  const [text, setText] = useState('');
  const [chosenIds, setChosenIds] = useState<readonly number[]>([]);
  const wanted = text.trim().toLowerCase();
  const found = vehicles.filter(({ vehicle_no: number, name }) => `${number} ${name}`.toLowerCase().includes(wanted));
  const chosen = found.filter(({ id }) => chosenIds.includes(id)).map(({ id }) => id);
  const clear = (): void => setChosenIds([]);
  // Vehicles that left the group are no longer chosen, even if they come back.
  useEffect(() => {
    const present = new Set(vehicles.map(({ id }) => id));
    setChosenIds((ids) => (ids.every((id) => present.has(id)) ? ids : ids.filter((id) => present.has(id))));
  }, [vehicles]);
  return (
    <section className="groups-vehicles" aria-label={t('vehicles')}>
      {vehicles.length === 0 ? null : (
        <TextInput
          type="search"
          aria-label={t('search')}
          placeholder={t('search')}
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
      )}
      <MoveBar groupId={groupId} groups={groups} chosenIds={chosen} moves={moves} onMoved={clear} />
      {found.length === 0 ? (
        <Empty title={t(vehicles.length > 0 ? 'noMatch' : groupId === null ? 'allGrouped' : 'noVehicles')} />
      ) : (
        <VehicleList vehicles={found} chosenIds={chosen} onChoose={setChosenIds} />
      )}
      {groupId === null ? null : <AddVehicles groupId={groupId} vehicles={vehicles} all={all} moves={moves} />}
    </section>
  );
}

interface MoveBarProps {
  readonly groupId: number | null;
  readonly groups: readonly NamedGroup[];
  readonly chosenIds: readonly number[];
  readonly moves: Moves;
  readonly onMoved: () => void;
}

/** Moves the chosen vehicles to another group, or adds them to it. */
function MoveBar({ groupId, groups, chosenIds, moves, onMoved }: MoveBarProps) {
  const { t } = useTranslation('groups');
  const [target, setTarget] = useState('');
  if (chosenIds.length === 0) return null;
  const targetId = target === '' ? null : Number(target);
  const options = [
    { value: '', label: t(groupId === null ? 'chooseGroup' : 'ungrouped') },
    ...groups.filter(({ id }) => id !== groupId).map(({ id, name }) => ({ value: String(id), label: name })),
  ];
  return (
    <Group gap="sm" align="end" role="group" aria-label={t('chosen', { count: chosenIds.length })}>
      <strong>{t('chosen', { count: chosenIds.length })}</strong>
      <NativeSelect
        label={t('moveTo')}
        data={options}
        value={target}
        onChange={({ currentTarget }) => setTarget(currentTarget.value)}
      />
      <Button
        loading={moves.run.isPending}
        disabled={targetId === groupId}
        onClick={() => moves.moveTo(chosenIds, groupId, targetId, onMoved)}
      >
        {t('move')}
      </Button>
      {groupId === null || targetId === null ? null : (
        <Button
          variant="default"
          disabled={moves.run.isPending}
          onClick={() => moves.addTo(chosenIds, targetId, onMoved)}
        >
          {t('alsoAdd')}
        </Button>
      )}
    </Group>
  );
}

interface VehicleListProps {
  readonly vehicles: readonly Vehicle[];
  readonly chosenIds: readonly number[];
  readonly onChoose: (ids: readonly number[]) => void;
}

/** Renders only the rows that fit. */
function VehicleList({ vehicles, chosenIds, onChoose }: VehicleListProps) {
  const { t } = useTranslation('groups');
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: vehicles.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeightPx,
    overscan: 10,
  });
  const areAllChosen = chosenIds.length === vehicles.length;
  return (
    <>
      <Checkbox
        label={t('chooseAll', { count: vehicles.length })}
        checked={areAllChosen}
        indeterminate={chosenIds.length > 0 && !areAllChosen}
        onChange={() => onChoose(areAllChosen ? [] : vehicles.map(({ id }) => id))}
      />
      <div className="groups-list" ref={scroller}>
        <ul aria-label={t('vehicles')} style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ index, start }) => {
            const { id, vehicle_no: number, name } = vehicles[index] as Vehicle;
            const isChosen = chosenIds.includes(id);
            // Dragging one of the chosen vehicles drags all of them.
            const ids = isChosen ? chosenIds : [id];
            return (
              <li
                key={id}
                className="groups-vehicle"
                style={{ transform: `translateY(${start}px)` }}
                {...dragProps({ kind: 'vehicles', ids })}
              >
                <Checkbox
                  label={name === number ? number : `${name} ${number}`}
                  checked={isChosen}
                  onChange={() => onChoose(isChosen ? chosenIds.filter((each) => each !== id) : [...chosenIds, id])}
                />
              </li>
            );
          })}
        </ul>
      </div>
    </>
  );
}
