import { ActionIcon } from '@mantine/core';
import { IconCarOff, IconChevronDown, IconChevronRight, IconFolder } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { NamedGroup } from '../../../common/fleet/folder-tree.ts';
import { Empty } from '../../../common/ui/states.tsx';
import { type Dragged, dragProps, useDrop } from '../drag.ts';

const indentPx = 16;

interface GroupTreeProps {
  readonly groups: readonly NamedGroup[];
  readonly selectedId: number | null;
  readonly ungroupedCount: number;
  readonly onDrop: (dragged: Dragged, groupId: number | null) => void;
}

/** Shows the groups as a tree. Vehicles and groups can be dropped on each; the forms beside it do the same by keyboard. */
export function GroupTree({ groups, selectedId, ungroupedCount, onDrop }: GroupTreeProps) {
  const { t } = useTranslation('groups');
  const [closedIds, setClosedIds] = useState<readonly number[]>([]);
  const toggle = (id: number): void =>
    setClosedIds(closedIds.includes(id) ? closedIds.filter((each) => each !== id) : [...closedIds, id]);
  const hidden = new Set<number>();
  // Parents are before their children.
  for (const { id, parentId } of groups)
    if (parentId !== null && (hidden.has(parentId) || closedIds.includes(parentId))) hidden.add(id);
  const parents = new Set(groups.map(({ parentId }) => parentId));
  return (
    <>
      <ul className="groups-tree" aria-label={t('title')}>
        <UngroupedRow count={ungroupedCount} isSelected={selectedId === null} onDrop={onDrop} />
        {groups
          .filter(({ id }) => !hidden.has(id))
          .map((group) => (
            <li key={group.id} style={{ paddingLeft: group.depth * indentPx }}>
              {parents.has(group.id) ? (
                <Toggle name={group.name} isOpen={!closedIds.includes(group.id)} onToggle={() => toggle(group.id)} />
              ) : (
                <span className="groups-toggle" />
              )}
              <GroupRow group={group} isSelected={group.id === selectedId} onDrop={onDrop} />
            </li>
          ))}
      </ul>
      {groups.length > 0 ? (
        <small>{t('dragHint')}</small>
      ) : (
        <Empty title={t('empty')}>
          <p>{t('emptyText')}</p>
        </Empty>
      )}
    </>
  );
}

function Toggle({ name, isOpen, onToggle }: { name: string; isOpen: boolean; onToggle: () => void }) {
  const { t } = useTranslation('groups');
  const Icon = isOpen ? IconChevronDown : IconChevronRight;
  return (
    <ActionIcon
      className="groups-toggle"
      variant="subtle"
      color="gray"
      aria-expanded={isOpen}
      aria-label={t('below', { name })}
      onClick={onToggle}
    >
      <Icon size={16} aria-hidden />
    </ActionIcon>
  );
}

interface RowProps {
  readonly isSelected: boolean;
  readonly onDrop: GroupTreeProps['onDrop'];
}

function GroupRow({ group: { id, name, color, vehicleCount }, isSelected, onDrop }: RowProps & { group: NamedGroup }) {
  const drop = useDrop((dragged) => onDrop(dragged, id));
  return (
    <Link
      to="/groups/{-$groupId}"
      params={{ groupId: String(id) }}
      className="groups-row"
      aria-current={isSelected ? 'true' : undefined}
      {...dragProps({ kind: 'group', id })}
      {...drop}
    >
      <IconFolder size={18} aria-hidden style={color === null ? undefined : { color }} />
      <span className="groups-name">{name}</span>
      <span>{vehicleCount}</span>
    </Link>
  );
}

/** The vehicles in no group. A group that is dropped here moves to the top level. */
function UngroupedRow({ count, isSelected, onDrop }: RowProps & { count: number }) {
  const { t } = useTranslation('groups');
  const drop = useDrop((dragged) => onDrop(dragged, null));
  return (
    <li>
      <Link
        to="/groups/{-$groupId}"
        params={{ groupId: undefined }}
        className="groups-row"
        aria-current={isSelected ? 'true' : undefined}
        {...drop}
      >
        <IconCarOff size={18} aria-hidden />
        <span className="groups-name">{t('ungrouped')}</span>
        <span>{count}</span>
      </Link>
    </li>
  );
}
