"""The messages of generateContent: the fields that each has, and their kinds.

A kind is a scalar, a free-form `struct` or `value`, an enum, or a message; `[]` before it means repeated, `{}` a map
from strings. Source: the google-genai 3.6 types for the Gemini Developer API, without what they mark as Vertex only.
"""

from __future__ import annotations

from collections.abc import Mapping

_BLOB = {"mimeType": "string", "data": "bytes", "displayName": "string"}
_FILE = {"mimeType": "string", "fileUri": "string", "displayName": "string"}
_NOTES = {"documentMetadata": "struct", "spreadsheetMetadata": "struct", "audioMetadata": "struct"}

MESSAGES: Mapping[str, Mapping[str, str]] = {
    "GenerateContentRequest": {
        "model": "string",
        "contents": "[]Content",
        "systemInstruction": "Content",
        "tools": "[]Tool",
        "toolConfig": "ToolConfig",
        "safetySettings": "[]SafetySetting",
        "generationConfig": "GenerationConfig",
        "cachedContent": "string",
        "labels": "{}string",
        "serviceTier": "ServiceTier",
        "store": "bool",
        "continuationToken": "bytes",
    },
    "CountTokensRequest": {"contents": "[]Content", "generateContentRequest": "GenerateContentRequest"},
    "Content": {"role": "string", "parts": "[]Part"},
    "Part": {
        "text": "string",
        "inlineData": "Blob",
        "fileData": "FileData",
        "functionCall": "FunctionCall",
        "functionResponse": "FunctionResponse",
        "executableCode": "ExecutableCode",
        "codeExecutionResult": "CodeExecutionResult",
        "toolCall": "ToolCall",
        "toolResponse": "ToolResponse",
        "thought": "bool",
        "thoughtSignature": "bytes",
        "partMetadata": "struct",
        "mediaResolution": "PartMediaResolution",
        "videoMetadata": "VideoMetadata",
        "mediaProcessing": "struct",
        "speechMetadata": "struct",
        **_NOTES,
    },
    "Blob": _BLOB,
    "FileData": _FILE,
    "FunctionCall": {"id": "string", "name": "string", "args": "struct"},
    "FunctionResponse": {
        "id": "string",
        "name": "string",
        "response": "struct",
        "parts": "[]FunctionResponsePart",
        "willContinue": "bool",
        "scheduling": "Scheduling",
    },
    "FunctionResponsePart": {
        "inlineData": "Blob",
        "fileData": "FileData",
        "mediaProcessing": "struct",
        "mediaResolution": "PartMediaResolution",
        "videoMetadata": "VideoMetadata",
        **_NOTES,
    },
    "ExecutableCode": {"id": "string", "language": "Language", "code": "string"},
    "CodeExecutionResult": {"id": "string", "outcome": "Outcome", "output": "string"},
    "ToolCall": {"id": "string", "toolType": "string", "args": "struct"},
    "ToolResponse": {"id": "string", "toolType": "string", "response": "struct"},
    "PartMediaResolution": {"level": "MediaResolution", "numTokens": "int32"},
    "VideoMetadata": {"startOffset": "string", "endOffset": "string", "fps": "float", "contentLayers": "[]string"},
    "Tool": {
        "functionDeclarations": "[]FunctionDeclaration",
        "googleSearch": "struct",
        "googleSearchRetrieval": "struct",
        "googleMaps": "struct",
        "codeExecution": "struct",
        "urlContext": "struct",
        "fileSearch": "struct",
        "computerUse": "struct",
        "mcpServers": "[]struct",
    },
    "FunctionDeclaration": {
        "name": "string",
        "description": "string",
        "behavior": "Behavior",
        "parameters": "Schema",
        "parametersJsonSchema": "value",
        "response": "Schema",
        "responseJsonSchema": "value",
    },
    "Schema": {
        "type": "Type",
        "format": "string",
        "title": "string",
        "description": "string",
        "nullable": "bool",
        "default": "value",
        "example": "value",
        "enum": "[]string",
        "items": "Schema",
        "minItems": "int64",
        "maxItems": "int64",
        "properties": "{}Schema",
        "required": "[]string",
        "propertyOrdering": "[]string",
        "minProperties": "int64",
        "maxProperties": "int64",
        "minimum": "float",
        "maximum": "float",
        "minLength": "int64",
        "maxLength": "int64",
        "pattern": "string",
        "anyOf": "[]Schema",
    },
    "ToolConfig": {
        "functionCallingConfig": "FunctionCallingConfig",
        "retrievalConfig": "struct",
        "includeServerSideToolInvocations": "bool",
    },
    "FunctionCallingConfig": {"mode": "Mode", "allowedFunctionNames": "[]string"},
    "SafetySetting": {"category": "HarmCategory", "threshold": "HarmBlockThreshold"},
    "GenerationConfig": {
        "temperature": "float",
        "topP": "float",
        "topK": "float",
        "candidateCount": "int32",
        "maxOutputTokens": "int32",
        "stopSequences": "[]string",
        "responseLogprobs": "bool",
        "logprobs": "int32",
        "presencePenalty": "float",
        "frequencyPenalty": "float",
        "seed": "int32",
        "responseMimeType": "string",
        "responseSchema": "Schema",
        "responseJsonSchema": "value",
        "responseFormat": "[]struct",
        "responseModalities": "[]Modality",
        "mediaResolution": "MediaResolution",
        "speechConfig": "struct",
        "thinkingConfig": "ThinkingConfig",
        "imageConfig": "struct",
        "enableEnhancedCivicAnswers": "bool",
        "audioTranscriptionConfig": "struct",
        "translationConfig": "struct",
    },
    "ThinkingConfig": {"includeThoughts": "bool", "thinkingBudget": "int32", "thinkingLevel": "ThinkingLevel"},
}

ONEOFS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "Part": (
        (
            "text",
            "inlineData",
            "fileData",
            "functionCall",
            "functionResponse",
            "executableCode",
            "codeExecutionResult",
            "toolCall",
            "toolResponse",
        ),
        "data",
    ),
    "FunctionResponsePart": (("inlineData", "fileData"), "data"),
}

ENUMS: Mapping[str, frozenset[str]] = {
    "Type": frozenset(("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL", "TYPE_UNSPECIFIED")),
    "Mode": frozenset(("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED")),
    "Scheduling": frozenset(("SCHEDULING_UNSPECIFIED", "SILENT", "WHEN_IDLE", "INTERRUPT")),
    "Behavior": frozenset(("UNSPECIFIED", "BLOCKING", "NON_BLOCKING")),
    "Language": frozenset(("LANGUAGE_UNSPECIFIED", "PYTHON")),
    "Outcome": frozenset(("OUTCOME_UNSPECIFIED", "OUTCOME_OK", "OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED")),
    "Modality": frozenset(("MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "AUDIO", "VIDEO")),
    "ThinkingLevel": frozenset(("THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH")),
    "ServiceTier": frozenset(("UNSPECIFIED", "FLEX", "STANDARD", "PRIORITY")),
    "MediaResolution": frozenset(
        "MEDIA_RESOLUTION_" + level for level in ("UNSPECIFIED", "LOW", "MEDIUM", "HIGH", "ULTRA_HIGH")
    ),
    "HarmCategory": frozenset(
        "HARM_CATEGORY_" + name
        for name in (
            "UNSPECIFIED",
            "HARASSMENT",
            "HATE_SPEECH",
            "SEXUALLY_EXPLICIT",
            "DANGEROUS_CONTENT",
            "CIVIC_INTEGRITY",
        )
    ),
    "HarmBlockThreshold": frozenset(
        (
            "HARM_BLOCK_THRESHOLD_UNSPECIFIED",
            "BLOCK_LOW_AND_ABOVE",
            "BLOCK_MEDIUM_AND_ABOVE",
            "BLOCK_ONLY_HIGH",
            "BLOCK_NONE",
            "OFF",
        )
    ),
}
