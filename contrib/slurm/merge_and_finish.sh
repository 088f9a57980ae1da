#!/usr/bin/env bash
# Joins the slices' replies and scores all answers from them: what a slice got a reply for is not asked again, and no
# judge has to run any more.
#
#     bash merge_and_finish.sh ANSWERS --tests FILE [the options that score_array.sbatch had..]
#
# Environment: JUDGE_DIR as for the others [judge]; TMPDIR, a folder on a local disk [/tmp]. The joined replies are kept
# as JUDGE_DIR/all.sqlite, the run record as JUDGE_DIR/run. The exit code is that of `scholareval score`.
set -uo pipefail

folder=${JUDGE_DIR:-judge}
slices=$(cat "$folder/slices" 2>/dev/null) || { echo "no slices in $folder; name the folder with JUDGE_DIR" >&2; exit 3; }

missing=() found=() newest=""
for ((slice = 1; slice <= slices; slice++)); do
    file="$folder/slice-$slice.sqlite"
    if [ -s "$folder/slice-$slice.done" ] && [ -s "$file" ]; then
        found+=("$file")
        if [ -z "$newest" ] || [ "$file" -nt "$folder/slice-$newest.sqlite" ]; then newest=$slice; fi
    else
        missing+=("$slice")
    fi
done
if [ "${#missing[@]}" -gt 0 ]; then
    list=$(IFS=, && echo "${missing[*]}")
    echo "not done: slice $list of $slices; where none is in the queue: sbatch --array=$list score_array.sbatch .." >&2
    exit 3
fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/scholareval-XXXXXX") || exit 3
trap 'rm -rf "$scratch"' EXIT
all="$scratch/all.sqlite"
# One slice's file is the beginning: it also knows what its judge said of itself, so that the judge may be gone.
cp "$folder/slice-$newest.sqlite" "$all" || exit 3
others=()
for file in "${found[@]}"; do
    [ "$file" = "$folder/slice-$newest.sqlite" ] || others+=("$file")
done
if [ "${#others[@]}" -gt 0 ]; then
    scholareval cache merge "${others[@]}" --into "$all" || exit
fi

url=$(cat "$folder/slice-$newest.url")
# a proxy of the cluster is for the world outside
hosts=$(echo "$url" | tr , '\n' | sed -E 's|^https?://||; s|[:/].*||' | paste -sd, -)
NO_PROXY="${NO_PROXY:-${no_proxy:-}},$hosts"
no_proxy=$NO_PROXY
export NO_PROXY no_proxy
# a variable of its own: OPENAI_API_KEY may be a key to be kept from this server
key=()
if [ -s "$folder/key" ]; then
    SCHOLAREVAL_JUDGE_KEY=$(cat "$folder/key")
    export SCHOLAREVAL_JUDGE_KEY
    key=(--api-key-env SCHOLAREVAL_JUDGE_KEY)
fi
scholareval score "$@" --base-url "$url" --cache "$all" --out "$folder/run" "${key[@]}"
code=$?
cp "$all" "$folder/all.sqlite.new" && mv "$folder/all.sqlite.new" "$folder/all.sqlite" || exit 3
exit "$code"
